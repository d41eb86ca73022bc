# qgraph: the graphical lasso with the extended BIC, on correlations.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "adapter.R"))
suppressMessages(library(qgraph))

selected <- function(problem) {
  EBICglasso(problem$correlation, nrow(problem$Y), verbose = FALSE)
}

point <- function(problem, k) {
  # qgraph takes no penalty: the solver that it calls, as it calls it
  fitted <- glasso::glasso(problem$correlation, problem$penalties[k], penalize.diagonal = FALSE)
  partial_correlations(fitted$wi)
}

serve(c("qgraph", "glasso"), selected, selected, point)
