# huge: neighbourhood selection with RIC by default, the graphical lasso with the extended BIC as a rule.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "adapter.R"))
suppressMessages(library(huge))

default <- function(problem) {
  as.matrix(huge.select(huge(problem$table, verbose = FALSE), verbose = FALSE)$refit)
}

own <- function(problem) {
  path <- huge(problem$table, method = "glasso", verbose = FALSE)
  partial_correlations(huge.select(path, criterion = "ebic", verbose = FALSE)$opt.icov)
}

point <- function(problem, k) {
  found <- huge(problem$correlation, lambda = problem$penalties[k], method = "glasso", verbose = FALSE)
  partial_correlations(found$icov[[1]])
}

serve("huge", default, own, point)
