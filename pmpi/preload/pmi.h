/* The key-value space of a job that hydra has started, MPICH's process manager: PMI-1 in its wire protocol. MPICH's own
 * client of it is inside its library. */
#ifndef LIBCOLL_PMPI_PRELOAD_PMI_H
#define LIBCOLL_PMPI_PRELOAD_PMI_H

#include <stdbool.h>
#include <stddef.h>

/* Values are texts of one line. Before MPI_Init, whose fence brings them to the others. False when the process was not
 * started by hydra, or hydra does not answer. */
bool libcoll_pmi_put(const char* key, const char* value);
/* After MPI_Init: what was put; false when there is no such key. */
bool libcoll_pmi_get(const char* key, char* value, size_t size);
/* This process's number in the job; negative without libcoll_pmi_put(). */
int libcoll_pmi_rank(void);

#endif
