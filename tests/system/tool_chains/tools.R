# tools.R OUT IN: a copy of the variable temp by R's ncdf4.
suppressMessages(library(ncdf4))
paths <- commandArgs(trailingOnly = TRUE)
source <- nc_open(paths[2])
target <- nc_create(paths[1], list(source$var[["temp"]]))
ncvar_put(target, "temp", ncvar_get(source, "temp", raw_datavals = TRUE))
nc_close(target)
nc_close(source)
