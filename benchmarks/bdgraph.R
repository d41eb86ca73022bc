# Edge probabilities by BDgraph: Rscript bdgraph.R DATA.csv ggm|gcgm ITERATIONS DENSITY OUT.csv
# Prints the CPU seconds and the elapsed seconds of the call alone, and the version.
suppressMessages(library(BDgraph))
given <- commandArgs(trailingOnly = TRUE)
Y <- as.matrix(read.csv(given[1], header = FALSE, na.strings = "nan"))
set.seed(1)
begin <- proc.time()
fit <- bdgraph(
  data = Y, method = given[2], iter = as.integer(given[3]), g.prior = as.numeric(given[4]),
  cores = 1, verbose = FALSE
)
spent <- proc.time() - begin
P <- plinks(fit, round = 12)
write.table(P, given[5], sep = ",", row.names = FALSE, col.names = FALSE)
cpu <- spent[["user.self"]] + spent[["sys.self"]]
cat(cpu, spent[["elapsed"]], as.character(packageVersion("BDgraph")))
