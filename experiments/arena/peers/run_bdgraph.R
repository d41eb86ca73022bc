# BDgraph: probabilities of edges of a graphical model, by its copula method where there are gaps.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))), "adapter.R"))
suppressMessages(library(BDgraph))

default <- function(problem) {
  method <- if (problem$gaps) "gcgm" else "ggm"
  fitted <- bdgraph(problem$scaled, method = method, cores = 1, verbose = FALSE)
  P <- plinks(fitted, round = 12)
  P + t(P)
}

serve("BDgraph", default)
