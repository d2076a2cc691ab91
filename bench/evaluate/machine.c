#define _GNU_SOURCE  // processors of a rank

#include "evaluate/evaluate.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Machine machine;

static int package_of(int processor) {
  char path[128];
  int package = -1;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", processor);
  FILE* file = fopen(path, "r");
  if (file) {
    if (fscanf(file, "%d", &package) != 1) {
      package = -1;
    }
    fclose(file);
  }
  return package;
}

/** The socket that this rank is bound to; -1 where it may run on several. */
static int own_socket(void) {
  cpu_set_t set;
  int found = -1;
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return -1;
  }
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (CPU_ISSET(processor, &set)) {
      const int package = package_of(processor);
      if (package < 0 || (found >= 0 && package != found)) {
        return -1;
      }
      found = package;
    }
  }
  return found;
}

void find_machine(void) {
  MPI_Comm node;
  MPI_Comm_rank(MPI_COMM_WORLD, &machine.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &machine.ranks);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, machine.rank, MPI_INFO_NULL, &node);
  int first = machine.rank;
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  if (options.ranks_of_node) {
    first = machine.rank / options.ranks_of_node * options.ranks_of_node;
  }
  MPI_Comm_free(&node);
  machine.node_of = allocate((size_t)machine.ranks * sizeof(int));
  machine.socket_of = allocate((size_t)machine.ranks * sizeof(int));
  MPI_Allgather(&first, 1, MPI_INT, machine.node_of, 1, MPI_INT, MPI_COMM_WORLD);
  const int socket = own_socket();
  MPI_Allgather(&socket, 1, MPI_INT, machine.socket_of, 1, MPI_INT, MPI_COMM_WORLD);
  int* number = allocate((size_t)machine.ranks * sizeof(int));
  for (int i = 0; i < machine.ranks; i++) {
    if (machine.node_of[i] == i) {
      number[i] = machine.nodes++;
    }
    machine.node_of[i] = number[machine.node_of[i]];
  }
  machine.node = machine.node_of[machine.rank];
}

void print_machine(void) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING], host[256] = "";
  int length, version, subversion, major = 0, minor = 0, patch = 0;
  MPI_Get_library_version(library, &length);
  MPI_Get_version(&version, &subversion);
  gethostname(host, sizeof host - 1);
  if (machine.rank != 0) {
    return;
  }
  for (char* at = library; *at; at++) {
    *at = *at == '"' || *at == '\\' || (unsigned char)*at < ' ' ? ' ' : *at;
  }
  if (ours.get_version) {
    ours.get_version(&major, &minor, &patch);
  }
  printf("{\"record\":\"machine\",\"mpi\":\"%s\",\"mpi_standard\":\"%d.%d\",\"host\":\"%s\",\"ranks\":%d,\"nodes\":%d",
         library, version, subversion, host, machine.ranks, machine.nodes);
  printf(",\"laneway\":\"%d.%d.%d\",\"seed\":%llu,\"node_of_rank\":[", major, minor, patch, options.seed);
  for (int i = 0; i < machine.ranks; i++) {
    printf("%s%d", i ? "," : "", machine.node_of[i]);
  }
  printf("]}\n");
  fflush(stdout);
}
