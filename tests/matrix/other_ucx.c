/* Stands for a UCX that the core cannot use: it has the name, and hardly a function. */
const char* ucp_get_version_string(void);
const char* ucp_get_version_string(void) { return "0.1"; }
