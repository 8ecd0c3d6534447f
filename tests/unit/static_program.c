/* Linked statically, and with a function of MPI's in it: what `libcoll run` tells of such programs. */
int PMPI_Init(int* argc, char*** argv);
int PMPI_Init(int* argc, char*** argv) { return argc == 0 || argv == 0; }

int main(void) { return 0; }
