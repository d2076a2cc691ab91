#include "evaluate/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_levels = 4, tag = 20 };

/** Values that neighbors need of a vector, and places for what they send. */
typedef struct Halo {
  MPI_Comm comm;
  int neighbors;
  int *ranks, *sendcounts, *sdispls, *recvcounts, *rdispls;
  int *send_index, *recv_index;  ///< into the vector
  int sent, received;
  double *send, *recv;
  MPI_Request* requests;
  void* topology;
  OurRequest request;
} Halo;

typedef void (*Exchange)(Halo*);

static void by_loop(Halo* h) {
  for (int k = 0; k < h->neighbors; k++) {
    MPI_Irecv(h->recv + h->rdispls[k], h->recvcounts[k], MPI_DOUBLE, h->ranks[k], tag, MPI_COMM_WORLD, &h->requests[k]);
  }
  for (int k = 0; k < h->neighbors; k++) {
    MPI_Isend(h->send + h->sdispls[k], h->sendcounts[k], MPI_DOUBLE, h->ranks[k], tag, MPI_COMM_WORLD,
              &h->requests[h->neighbors + k]);
  }
  MPI_Waitall(2 * h->neighbors, h->requests, MPI_STATUSES_IGNORE);
}
static void by_neighborhood(Halo* h) {
  MPI_Neighbor_alltoallv(h->send, h->sendcounts, h->sdispls, MPI_DOUBLE, h->recv, h->recvcounts, h->rdispls, MPI_DOUBLE,
                         h->comm);
}
static void by_laneway(Halo* h) {
  ours.start(&h->request);
  ours.wait(&h->request, MPI_STATUS_IGNORE);
}

static void exchange(Halo* h, double* vector, Exchange how, double* in_communication) {
  for (int i = 0; i < h->sent; i++) {
    h->send[i] = vector[h->send_index[i]];
  }
  const double begin = MPI_Wtime();
  how(h);
  *in_communication += MPI_Wtime() - begin;
  for (int i = 0; i < h->received; i++) {
    vector[h->recv_index[i]] = h->recv[i];
  }
}

static void begin_halo(Halo* h, int most, int most_values) {
  int* tables = allocate(5 * (size_t)most * sizeof(int));
  h->ranks = tables;
  h->sendcounts = tables + most;
  h->sdispls = tables + 2 * most;
  h->recvcounts = tables + 3 * most;
  h->rdispls = tables + 4 * most;
  h->send_index = allocate((size_t)most_values * sizeof(int));
  h->recv_index = allocate((size_t)most_values * sizeof(int));
}

static void end_lists(Halo* h) {
  h->send = allocate((size_t)h->sent * sizeof(double));
  h->recv = allocate((size_t)h->received * sizeof(double));
  h->requests = allocate(2 * (size_t)h->neighbors * sizeof(MPI_Request));
  if (has_graphs) {
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, h->neighbors, h->ranks, MPI_UNWEIGHTED, h->neighbors, h->ranks,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &h->comm);
  }
}

static int has_requests(void) {
  return ours.topology_create && ours.topology_free && our_neighbor_inits.alltoallv && ours.start && ours.wait &&
         ours.request_free;
}

static void begin_request(Halo* h) {
  if (has_requests()) {
    ours.topology_create(MPI_COMM_WORLD, h->neighbors, h->ranks, MPI_UNWEIGHTED, h->neighbors, h->ranks, MPI_UNWEIGHTED,
                         MPI_INFO_NULL, &h->topology);
    our_neighbor_inits.alltoallv(h->send, h->sendcounts, h->sdispls, MPI_DOUBLE, h->recv, h->recvcounts, h->rdispls,
                                 MPI_DOUBLE, h->topology, MPI_INFO_NULL, &h->request);
  }
}

static void end_halo(Halo* h) {
  if (has_requests()) {
    ours.request_free(&h->request);
    ours.topology_free(&h->topology);
  }
  if (has_graphs) {
    MPI_Comm_free(&h->comm);
  }
  free(h->ranks);
  free(h->send_index);
  free(h->recv_index);
  free(h->send);
  free(h->recv);
  free(h->requests);
}

/** A cube of n*n*n points of the 27-point operator of HPCG: 26 in the middle, -1 around it, nothing outside of the
 * whole domain. Vectors have a layer of ghosts around the cube. */
typedef struct Level {
  int n;
  int first[3], whole[3];  ///< the cube's first point, and how many points the domain has
  Halo halo;
  double *x, *b, *r;
} Level;

typedef struct Solver {
  Exchange how;
  Level* levels;
  int count;
  double *x, *b, *r, *z, *p, *q;  ///< of the finest level
  double in_communication, share;
} Solver;

static size_t at(int n, int x, int y, int z) {
  return ((size_t)(z + 1) * (size_t)(n + 2) + (size_t)(y + 1)) * (size_t)(n + 2) + (size_t)(x + 1);
}
static size_t padded(int n) {
  return (size_t)(n + 2) * (size_t)(n + 2) * (size_t)(n + 2);
}

static double around(const double* v, int n, size_t centre) {
  double sum = 0;
  const size_t row = (size_t)(n + 2), plane = row * row;
  for (size_t z = centre - plane; z <= centre + plane; z += plane) {
    for (size_t y = z - row; y <= z + row; y += row) {
      sum += v[y - 1] + v[y] + v[y + 1];
    }
  }
  return sum - v[centre];
}

static void spmv(Solver* s, Level* level, double* v, double* out) {
  exchange(&level->halo, v, s->how, &s->in_communication);
  const int n = level->n;
  for (int z = 0; z < n; z++) {
    for (int y = 0; y < n; y++) {
      for (int x = 0; x < n; x++) {
        const size_t i = at(n, x, y, z);
        out[i] = 26 * v[i] - around(v, n, i);
      }
    }
  }
}

/** One sweep forwards and one backwards. */
static void smooth(Solver* s, Level* level, const double* b, double* v) {
  exchange(&level->halo, v, s->how, &s->in_communication);
  const int n = level->n, points = n * n * n;
  for (int k = 0; k < 2 * points; k++) {
    const int point = k < points ? k : 2 * points - 1 - k;
    const size_t i = at(n, point % n, point / n % n, point / n / n);
    v[i] = (b[i] + around(v, n, i)) / 26;
  }
}

static void multigrid(Solver* s, int number, const double* b, double* v) {
  Level* level = &s->levels[number];
  const int n = level->n;
  memset(v, 0, padded(n) * sizeof(double));
  smooth(s, level, b, v);
  if (number + 1 == s->count) {
    return;
  }
  Level* coarse = &s->levels[number + 1];
  const int half = coarse->n;
  spmv(s, level, v, level->r);
  for (int k = 0; k < half * half * half; k++) {
    const int x = k % half, y = k / half % half, z = k / half / half;
    const size_t fine = at(n, 2 * x, 2 * y, 2 * z);
    coarse->b[at(half, x, y, z)] = b[fine] - level->r[fine];
  }
  multigrid(s, number + 1, coarse->b, coarse->x);
  for (int k = 0; k < half * half * half; k++) {
    const int x = k % half, y = k / half % half, z = k / half / half;
    v[at(n, 2 * x, 2 * y, 2 * z)] += coarse->x[at(half, x, y, z)];
  }
  smooth(s, level, b, v);
}

static double dot(Solver* s, const double* a, const double* b) {
  const int n = s->levels->n;
  double own = 0, all;
  for (int z = 0; z < n; z++) {
    for (int y = 0; y < n; y++) {
      for (size_t i = at(n, 0, y, z); i < at(n, n, y, z); i++) {
        own += a[i] * b[i];
      }
    }
  }
  const double begin = MPI_Wtime();
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  s->in_communication += MPI_Wtime() - begin;
  return all;
}

static void waxpby(const Solver* s, double a, const double* x, double b, const double* y, double* out) {
  const size_t size = padded(s->levels->n);
  for (size_t i = 0; i < size; i++) {
    out[i] = a * x[i] + b * y[i];
  }
}

/** Conjugate gradients with the multigrid cycle as preconditioner, from zero; the residual's norm as a share of b's. */
static double solve(Solver* s, int iterations) {
  Level* finest = s->levels;
  double before = 0;
  memset(s->x, 0, padded(finest->n) * sizeof(double));
  waxpby(s, 1, s->b, 0, s->b, s->r);
  const double whole = dot(s, s->b, s->b);
  for (int k = 0; k < iterations; k++) {
    multigrid(s, 0, s->r, s->z);
    const double now = dot(s, s->r, s->z);
    waxpby(s, 1, s->z, k ? now / before : 0, s->p, s->p);
    before = now;
    spmv(s, finest, s->p, s->q);
    const double step = now / dot(s, s->p, s->q);
    waxpby(s, 1, s->x, step, s->p, s->x);
    waxpby(s, 1, s->r, -step, s->q, s->r);
  }
  return sqrt(dot(s, s->r, s->r) / whole);
}

enum { iterations = 5 };
static void phase_spmv(Solver* s) {
  spmv(s, s->levels, s->p, s->q);
}
static void phase_multigrid(Solver* s) {
  multigrid(s, 0, s->b, s->z);
}
static void phase_dot(Solver* s) {
  dot(s, s->b, s->b);
}
static void phase_waxpby(Solver* s) {
  waxpby(s, 1, s->b, 0.5, s->r, s->q);
}
static void phase_all(Solver* s) {
  solve(s, iterations);
}

static double repeat_phase(Solver* s, int repeats, void (*phase)(Solver*)) {
  s->in_communication = 0;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    phase(s);
  }
  const double seconds = MPI_Wtime() - begin;
  s->share = seconds > 0 ? s->in_communication / seconds : 0;
  return seconds / repeats;
}
static double run_spmv(void* context, int repeats) {
  return repeat_phase(context, repeats, phase_spmv);
}
static double run_multigrid(void* context, int repeats) {
  return repeat_phase(context, repeats, phase_multigrid);
}
static double run_dot(void* context, int repeats) {
  return repeat_phase(context, repeats, phase_dot);
}
static double run_waxpby(void* context, int repeats) {
  return repeat_phase(context, repeats, phase_waxpby);
}
static double run_all(void* context, int repeats) {
  return repeat_phase(context, repeats, phase_all);
}

/** Of a point within the whole domain; a number that no other point has. */
static double value_of_point(const Level* level, const int* point) {
  double value = 0;
  for (int d = 0; d < 3; d++) {
    value = 65536 * value + level->first[d] + point[d];
  }
  return value;
}

/** Whether the exchange puts into each ghost what its owner has, and nothing outside of the whole domain. */
static int has_right_ghosts(Solver* s, Level* level) {
  enum { outside = -1 };
  const int n = level->n, width = n + 2;
  int right = 1;
  for (int is_after = 0; is_after < 2; is_after++) {
    for (int k = 0; k < width * width * width; k++) {
      const int point[3] = {k % width - 1, k / width % width - 1, k / width / width - 1};
      int is_own = 1, is_inside = 1;
      for (int d = 0; d < 3; d++) {
        const int there = level->first[d] + point[d];
        is_own = is_own && point[d] >= 0 && point[d] < n;
        is_inside = is_inside && there >= 0 && there < level->whole[d];
      }
      double* value = &level->x[at(n, point[0], point[1], point[2])];
      const double known = is_inside ? value_of_point(level, point) : outside;
      right = right && (!is_after || *value == known);
      *value = is_own && !is_after ? known : is_after ? 0 : outside;
    }
    if (!is_after) {
      exchange(&level->halo, level->x, s->how, &s->in_communication);
    }
  }
  return right;
}

/** The solution is known: b is the operator's product with ones. On larger cubes so few iterations do not come near it.
 */
static int verify_solver(void* context) {
  enum { largest_solved = 32, most_iterations = 30 };
  Solver* s = context;
  const int n = s->levels->n;
  int right = 1;
  for (int i = 0; i < s->count; i++) {
    right = has_right_ghosts(s, &s->levels[i]) && right;
  }
  if (n > largest_solved) {
    return right;
  }
  right = solve(s, most_iterations) < 1e-7 && right;
  for (int k = 0; k < n * n * n; k++) {
    right = right && fabs(s->x[at(n, k % n, k / n % n, k / n / n)] - 1) < 1e-4;
  }
  return right;
}

/** Neighbors of a cube in a grid of ranks, and the layers that they exchange. */
static void begin_level(Level* level, int n, const int* grid) {
  const int mine[3] = {machine.rank % grid[0], machine.rank / grid[0] % grid[1], machine.rank / grid[0] / grid[1]};
  Halo* h = &level->halo;
  level->n = n;
  for (int d = 0; d < 3; d++) {
    level->first[d] = mine[d] * n;
    level->whole[d] = grid[d] * n;
  }
  level->x = allocate(padded(n) * sizeof(double));
  level->b = allocate(padded(n) * sizeof(double));
  level->r = allocate(padded(n) * sizeof(double));
  begin_halo(h, 26, (int)padded(n));
  for (int k = 0; k < 27; k++) {
    const int step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    int there[3], begin[3], count[3], is_inside = k != 13;
    for (int d = 0; d < 3; d++) {
      there[d] = mine[d] + step[d];
      is_inside = is_inside && there[d] >= 0 && there[d] < grid[d];
      begin[d] = step[d] > 0 ? n - 1 : 0;
      count[d] = step[d] ? 1 : n;
    }
    if (!is_inside) {
      continue;
    }
    const int number = h->neighbors++, values = count[0] * count[1] * count[2];
    h->ranks[number] = (there[2] * grid[1] + there[1]) * grid[0] + there[0];
    h->sendcounts[number] = h->recvcounts[number] = values;
    h->sdispls[number] = h->rdispls[number] = h->sent;
    for (int i = 0; i < values; i++) {
      const int x = begin[0] + i % count[0], y = begin[1] + i / count[0] % count[1],
                z = begin[2] + i / count[0] / count[1];
      h->send_index[h->sent++] = (int)at(n, x, y, z);
      h->recv_index[h->received++] = (int)at(n, x + step[0], y + step[1], z + step[2]);
    }
  }
  end_lists(h);
  begin_request(h);
}

static double work_of(const Solver* s, const char* phase) {
  const double points = pow(s->levels->n, 3) * machine.ranks, product = 54 * points;
  double cycle = 0;
  for (int i = 0; i < s->count; i++) {
    const double here = product * pow(0.125, i);
    cycle += i + 1 < s->count ? 2 * 2 * here + here : 2 * here;
  }
  if (!strcmp(phase, "hpcg_spmv")) {
    return product;
  }
  if (!strcmp(phase, "hpcg_mg")) {
    return cycle;
  }
  if (!strcmp(phase, "hpcg_ddot")) {
    return 2 * points;
  }
  if (!strcmp(phase, "hpcg_waxpby")) {
    return 3 * points;
  }
  return iterations * (cycle + product + 3 * 3 * points + 2 * 2 * points);
}

static int list_candidates(Candidate* candidates, Candidate like, void* mpi, void* loop, void* laneway,
                           double* shares[3]) {
  int count = 0;
  if (has_graphs) {
    candidates[count] = like;
    candidates[count].name = "mpi";
    candidates[count].context = mpi;
    candidates[count++].shares = shares[0];
  }
  if (has_graphs && options.control) {
    candidates[count] = candidates[0];
    candidates[count++].name = "control";
  }
  candidates[count] = like;
  candidates[count].name = "loop";
  candidates[count].context = loop;
  candidates[count++].shares = shares[1];
  if (has_requests()) {
    candidates[count] = like;
    candidates[count].name = "laneway_persistent";
    candidates[count].context = laneway;
    candidates[count++].shares = shares[2];
  }
  return count;
}

static void measure_phase(const char* name, Solver* s) {
  static const struct {
    const char* name;
    double (*run)(void*, int);
  } phases[] = {{"hpcg_spmv", run_spmv},
                {"hpcg_mg", run_multigrid},
                {"hpcg_ddot", run_dot},
                {"hpcg_waxpby", run_waxpby},
                {"hpcg", run_all}};
  Solver loop = *s, laneway = *s;
  s->how = by_neighborhood;
  loop.how = by_loop;
  laneway.how = by_laneway;
  double* shares[3] = {&s->share, &loop.share, &laneway.share};
  for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
    if (strcmp(phases[i].name, name)) {
      continue;
    }
    Case what = {.group = "application",
                 .benchmark = name,
                 .where = machine.nodes > 1 ? "between" : "inside",
                 .pattern = "27-point"};
    const int is_exchanging = strcmp(name, "hpcg_ddot") && strcmp(name, "hpcg_waxpby");
    what.bytes = 8LL * s->levels->n * s->levels->n * s->levels->n;
    what.work = work_of(s, name);
    Candidate candidates[4], like = {.run = phases[i].run, .verify = is_exchanging ? verify_solver : NULL};
    int count = list_candidates(candidates, like, s, &loop, &laneway, shares);
    measure(&what, candidates, is_exchanging ? count : options.control ? 2 : 1, MPI_COMM_WORLD);
  }
}

static void run_hpcg(const char* name) {
  int grid[3] = {0, 0, 0};
  MPI_Dims_create(machine.ranks, 3, grid);
  for (int n = 8; n <= options.grid; n *= 2) {
    Level levels[most_levels] = {{0}};
    Solver s = {.levels = levels};
    for (int size = n; size >= 2 && s.count < most_levels; size /= 2) {
      begin_level(&levels[s.count++], size, grid);
    }
    double** vectors[] = {&s.x, &s.b, &s.r, &s.z, &s.p, &s.q};
    for (int i = 0; i < 6; i++) {
      *vectors[i] = allocate(padded(n) * sizeof(double));
    }
    for (int k = 0; k < n * n * n; k++) {
      s.p[at(n, k % n, k / n % n, k / n / n)] = 1;
    }
    s.how = by_loop;
    spmv(&s, levels, s.p, s.b);
    measure_phase(name, &s);
    for (int i = 0; i < 6; i++) {
      free(*vectors[i]);
    }
    for (int i = 0; i < s.count; i++) {
      end_halo(&levels[i].halo);
      free(levels[i].x);
      free(levels[i].b);
      free(levels[i].r);
    }
  }
}

/** Rows of a random sparse matrix: three near the diagonal, five elsewhere, most of them not far away. */
enum { row_entries = 8 };

typedef struct Product {
  Exchange how;
  Halo* halo;
  int rows;
  int* columns;  ///< into the vector: own rows first, then ghosts
  double *x, *y;
  double in_communication, share;
} Product;

static long long column_of(long long row, int entry, long long all, int rows) {
  if (entry < 3) {
    return (row + entry - 1 + all) % all;
  }
  unsigned long long state = (unsigned long long)row * 2654435761ull + (unsigned long long)entry * 40503ull + 12345;
  state ^= state >> 13;
  state *= 0x9E3779B97F4A7C15ull;
  state ^= state >> 29;
  const long long reach = entry < 7 ? rows : all;
  return (row + (long long)(state % (unsigned long long)reach) - reach / 2 + all) % all;
}

static double value_at(long long column) {
  return 1 + (double)(column % 13);
}

static int by_number(const void* a, const void* b) {
  const long long x = *(const long long*)a, y = *(const long long*)b;
  return (x > y) - (x < y);
}

static double run_product(void* context, int repeats) {
  Product* p = context;
  p->in_communication = 0;
  const double begin = MPI_Wtime();
  for (int k = 0; k < repeats; k++) {
    exchange(p->halo, p->x, p->how, &p->in_communication);
    for (int i = 0; i < p->rows; i++) {
      double sum = 0;
      for (int entry = 0; entry < row_entries; entry++) {
        sum += (entry + 1) * p->x[p->columns[i * row_entries + entry]];
      }
      p->y[i] = sum;
    }
  }
  const double seconds = MPI_Wtime() - begin;
  p->share = seconds > 0 ? p->in_communication / seconds : 0;
  return seconds / repeats;
}

static int verify_product(void* context) {
  Product* p = context;
  const long long all = (long long)p->rows * machine.ranks, first = (long long)p->rows * machine.rank;
  for (int i = 0; i < p->halo->received; i++) {
    p->x[p->rows + i] = -1;
  }
  run_product(p, 1);
  for (int i = 0; i < p->rows; i++) {
    double sum = 0;
    for (int entry = 0; entry < row_entries; entry++) {
      sum += (entry + 1) * value_at(column_of(first + i, entry, all, p->rows));
    }
    if (sum != p->y[i]) {
      return 0;
    }
  }
  return 1;
}

/** The ghosts of this rank's rows, and from whom they come; the owners are told what they send. Every rank that
 * receives from another one also sends to it, perhaps nothing, so that both sides have the same neighbors. */
static void begin_product(Product* p) {
  const int rows = p->rows, ranks = machine.ranks;
  const long long all = (long long)rows * ranks, first = (long long)rows * machine.rank;
  long long* wanted = allocate((size_t)rows * row_entries * sizeof(long long));
  int count = 0, unique = 0, asked_total = 0;
  for (int k = 0; k < rows * row_entries; k++) {
    const long long column = column_of(first + k / row_entries, k % row_entries, all, rows);
    if (column < first || column >= first + rows) {
      wanted[count++] = column;
    }
  }
  qsort(wanted, (size_t)count, sizeof *wanted, by_number);
  for (int k = 0; k < count; k++) {
    if (k == 0 || wanted[k] != wanted[k - 1]) {
      wanted[unique++] = wanted[k];
    }
  }
  int* tables = allocate(4 * (size_t)ranks * sizeof(int));
  int *needs = tables, *asked = tables + ranks, *needs_at = tables + 2 * ranks, *asked_at = tables + 3 * ranks;
  for (int k = 0; k < unique; k++) {
    needs[wanted[k] / rows]++;
  }
  MPI_Alltoall(needs, 1, MPI_INT, asked, 1, MPI_INT, MPI_COMM_WORLD);
  for (int rank = 0, begin = 0; rank < ranks; rank++) {
    needs_at[rank] = begin;
    asked_at[rank] = asked_total;
    begin += needs[rank];
    asked_total += asked[rank];
  }
  long long* requested = allocate((size_t)asked_total * sizeof(long long));
  MPI_Alltoallv(wanted, needs, needs_at, MPI_LONG_LONG, requested, asked, asked_at, MPI_LONG_LONG, MPI_COMM_WORLD);
  Halo* h = p->halo;
  begin_halo(h, ranks, asked_total > unique ? asked_total : unique);
  for (int rank = 0; rank < ranks; rank++) {
    if (needs[rank] || asked[rank]) {
      const int number = h->neighbors++;
      h->ranks[number] = rank;
      h->sendcounts[number] = asked[rank];
      h->recvcounts[number] = needs[rank];
      h->sdispls[number] = asked_at[rank];
      h->rdispls[number] = needs_at[rank];
    }
  }
  h->sent = asked_total;
  h->received = unique;
  for (int i = 0; i < asked_total; i++) {
    h->send_index[i] = (int)(requested[i] - first);
  }
  for (int i = 0; i < unique; i++) {
    h->recv_index[i] = rows + i;
  }
  p->x = allocate((size_t)(rows + unique) * sizeof(double));
  p->y = allocate((size_t)rows * sizeof(double));
  p->columns = allocate((size_t)rows * row_entries * sizeof(int));
  for (int i = 0; i < rows; i++) {
    p->x[i] = value_at(first + i);
  }
  for (int k = 0; k < rows * row_entries; k++) {
    const long long column = column_of(first + k / row_entries, k % row_entries, all, rows);
    const long long* found = bsearch(&column, wanted, (size_t)unique, sizeof *wanted, by_number);
    p->columns[k] = found ? rows + (int)(found - wanted) : (int)(column - first);
  }
  free(wanted);
  free(tables);
  free(requested);
  end_lists(h);
  begin_request(h);
}

static void run_sparse(void) {
  for (int n = 8; n <= options.grid; n *= 2) {
    Halo halo = {0};
    Product mpi = {.how = by_neighborhood, .halo = &halo, .rows = n * n * n};
    begin_product(&mpi);
    Product loop = mpi, laneway = mpi;
    loop.how = by_loop;
    laneway.how = by_laneway;
    Case what = {.group = "application",
                 .benchmark = "sparse_product",
                 .where = machine.nodes > 1 ? "between" : "inside",
                 .pattern = "random"};
    what.bytes = 8LL * mpi.rows;
    what.work = 2.0 * row_entries * mpi.rows * machine.ranks;
    double* shares[3] = {&mpi.share, &loop.share, &laneway.share};
    Candidate candidates[4], like = {.run = run_product, .verify = verify_product};
    measure(&what, candidates, list_candidates(candidates, like, &mpi, &loop, &laneway, shares), MPI_COMM_WORLD);
    free(mpi.x);
    free(mpi.y);
    free(mpi.columns);
    end_halo(&halo);
  }
}

void run_solver(const char* benchmark) {
  if (!strcmp(benchmark, "sparse_product")) {
    run_sparse();
  } else {
    run_hpcg(benchmark);
  }
}
