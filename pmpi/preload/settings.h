/* What the preload has to know of the settings: it reads the environment, and leaves configuration files to the core.
 */
#ifndef LIBCOLL_PMPI_PRELOAD_SETTINGS_H
#define LIBCOLL_PMPI_PRELOAD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Some configuration file of libcoll's is there. */
bool libcoll_has_configuration_file(void);
/* Some LIBCOLL_ variable is set. */
bool libcoll_has_variables(void);
/* LIBCOLL_ENABLE does not say no. */
bool libcoll_is_enabled(void);
/* As libcoll_describe_settings_function, from the environment alone. */
void libcoll_describe_environment(char* text, size_t size);

#endif
