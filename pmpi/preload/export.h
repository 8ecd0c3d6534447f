/* What the preload exports. */
#ifndef LIBCOLL_PMPI_PRELOAD_EXPORT_H
#define LIBCOLL_PMPI_PRELOAD_EXPORT_H

#define LIBCOLL_EXPORT __attribute__((visibility("default")))

#endif
