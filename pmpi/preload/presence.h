/* Which processes of the job have libcoll. Each says so in the job's key-value space (PMIx, or PMI-1 of MPICH's hydra)
 * before the others can ask.
 *
 * A process says so from within PMIx_Init, which MPI_Init calls whatever language the program is written in, or before
 * MPI_Init. MPI's fence comes after that, so a key that is not there afterwards never comes. No message is sent and
 * nobody is waited for. */
#ifndef LIBCOLL_PMPI_PRELOAD_PRESENCE_H
#define LIBCOLL_PMPI_PRELOAD_PRESENCE_H

#include "pmpi/core_interface.h"

/* Before MPI_Init, where PMIx_Init does not do it. */
void libcoll_announce(void);
/* Asks for what the processes of a job of that size have announced. Nothing is known without memory for the answer. */
void libcoll_find_presence(int world_size, struct libcoll_presence* presence);

#endif
