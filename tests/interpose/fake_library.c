/* Looks like another MPI library. */
__attribute__((visibility("default"))) int PMPI_Recv(void) {
  return 0;
}
