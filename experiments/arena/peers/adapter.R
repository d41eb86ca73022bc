# What every adapter of an R package shares; adapter.py describes the files.

arguments <- commandArgs(trailingOnly = FALSE)
given <- commandArgs(trailingOnly = TRUE)

read_problem <- function(folder, task) {
  matrix_of <- function(name, rows, columns) {
    values <- readBin(file.path(folder, name), "double", rows * columns, endian = "little")
    matrix(values, rows, columns, byrow = TRUE)
  }
  Y <- matrix_of("Y", task$n, task$m)
  x <- if (task$p > 0) matrix_of("x", task$m, task$p) else NULL
  colnames(Y) <- paste0("v", seq_len(task$m))
  scaled <- scale(Y) # over what is observed
  filled <- scale(matrix_of("filled", task$n, task$m))
  correlation <- matrix_of("C", task$m, task$m)
  dimnames(correlation) <- list(colnames(Y), colnames(Y))
  largest <- max(abs(correlation - diag(task$m)))
  ratio <- (0.02 / 0.9)^(seq(0, task$values - 1) / max(task$values - 1, 1))
  list(
    Y = Y, x = x, scaled = scaled, table = filled, correlation = correlation,
    penalties = largest * 0.9 * ratio, gaps = anyNA(Y), values = task$values
  )
}

partial_correlations <- function(precision) {
  d <- sqrt(pmax(diag(as.matrix(precision)), 1e-300))
  abs(as.matrix(precision)) / outer(d, d)
}

memory <- function() {
  status <- try(readLines("/proc/self/status"), silent = TRUE)
  if (inherits(status, "try-error")) return(NaN)
  line <- grep("^VmHWM", status, value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}

answer <- function(folder, task, name, work) {
  problem <- read_problem(folder, task)
  set.seed(1)
  begin <- proc.time()
  weights <- try(suppressWarnings(suppressMessages(work(problem))), silent = TRUE)
  spent <- proc.time() - begin
  if (inherits(weights, "try-error")) {
    writeLines(conditionMessage(attr(weights, "condition")), file.path(folder, paste0(name, ".error")))
    return(invisible())
  }
  weights <- abs(as.matrix(weights))
  pairs <- t(weights)[lower.tri(weights)] # row by row, above the diagonal
  writeBin(as.double(pairs), file.path(folder, paste0(name, ".bin")), endian = "little")
  part <- file.path(folder, paste0(name, ".part"))
  seconds <- spent[["user.self"]] + spent[["sys.self"]]
  writeLines(c(paste("seconds", seconds), paste("memory", memory())), part)
  file.rename(part, file.path(folder, paste0(name, ".txt")))
}

serve <- function(packages, default, own = NULL, point = NULL) {
  folder <- given[1]
  lines <- read.table(file.path(folder, "task.txt"), col.names = c("key", "value"))
  task <- setNames(as.list(lines$value), lines$key)
  versions <- vapply(packages, function(name) as.character(packageVersion(name)), "")
  about <- c(paste("R", paste(R.version$major, R.version$minor, sep = ".")), paste(packages, versions))
  writeLines(about, file.path(folder, "about.txt"))
  calls <- list(default = default)
  if (!is.null(own)) calls$own <- own
  if (!is.null(point)) {
    for (k in seq_len(task$values)) {
      calls[[paste0("grid-", k - 1)]] <- local({
        number <- k
        function(problem) point(problem, number)
      })
    }
  }
  for (name in names(calls)) {
    for (r in seq_len(task$replicates)) {
      answer(file.path(folder, r - 1), task, name, calls[[name]])
    }
  }
}
