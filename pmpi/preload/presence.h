/* Which processes of the job have libcoll. Each says so in the job's key-value space (PMIx, or PMI-1 of MPICH's hydra)
 * before the others can ask.
 *
 * A process says so before MPI_Init, whose fence brings the key to the others: one that is not there afterwards never
 * comes. No message is sent and nobody is waited for. */
#ifndef LIBCOLL_PMPI_PRELOAD_PRESENCE_H
#define LIBCOLL_PMPI_PRELOAD_PRESENCE_H

#include "pmpi/core_interface.h"

/* Before MPI_Init. */
void libcoll_announce(void);
/* After MPI_Init, which has the key-value space open itself now. */
void libcoll_end_announcement(void);
/* Asks for what the processes of a job of that size have announced. Nothing is known without memory for the answer. */
void libcoll_find_presence(int world_size, struct libcoll_presence* presence);

#endif
