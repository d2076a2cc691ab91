#include "evaluate/evaluate.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef LANEWAY_EVALUATE_FFTW
#include <fftw3.h>
#endif

typedef double complex Number;

/** A part of n points: of p, the one with this index. */
static int part(int n, int p, int index) {
  return n / p + (index < n % p);
}
static int offset(int n, int p, int index) {
  return index * (n / p) + (index < n % p ? index : n % p);
}

/** An exchange of pencils among the ranks of a row or column of the grid of ranks. */
typedef struct Turn {
  MPI_Comm comm;
  int ranks, rank;
  int *counts, *displs;  ///< of what is sent, and the same of what is received
} Turn;

/** A 3-D transform of n*n*n points by pencils: x, then y, then z (heFFTe's and P3DFFT's method). */
typedef struct Transform {
  const Calls* calls;
  int n, rows, columns, row, column, is_padded;
  Turn across, along;  ///< x-pencils to y-pencils; y-pencils to z-pencils
  Number *data, *buffer, *original;
  double share, in_communication;
} Transform;

#ifdef LANEWAY_EVALUATE_FFTW
static const char* const engine = "FFTW";
static void lines(Number* data, int n, int count, int sign) {
  static fftw_plan plans[2];
  static int known[2];
  const int which = sign > 0;
  if (known[which] != n) {
    Number* line = fftw_malloc(sizeof(Number) * (size_t)n);
    plans[which] = fftw_plan_dft_1d(n, (fftw_complex*)line, (fftw_complex*)line, sign, FFTW_ESTIMATE | FFTW_UNALIGNED);
    known[which] = n;
    fftw_free(line);
  }
  for (int i = 0; i < count; i++) {
    fftw_execute_dft(plans[which], (fftw_complex*)(data + (size_t)i * n), (fftw_complex*)(data + (size_t)i * n));
  }
}
#else
static const char* const engine = "own, radix 2";
/** Cooley and Tukey's, for powers of two. */
static void line(Number* x, int n, int sign) {
  for (int i = 1, j = 0; i < n; i++) {
    int bit = n >> 1;
    for (; j & bit; bit >>= 1) {
      j ^= bit;
    }
    j ^= bit;
    if (i < j) {
      const Number kept = x[i];
      x[i] = x[j];
      x[j] = kept;
    }
  }
  for (int length = 2; length <= n; length *= 2) {
    const Number step = cexp(sign * 2 * M_PI * I / length);
    for (int i = 0; i < n; i += length) {
      Number factor = 1;
      for (int k = 0; k < length / 2; k++, factor *= step) {
        const Number even = x[i + k], odd = x[i + k + length / 2] * factor;
        x[i + k] = even + odd;
        x[i + k + length / 2] = even - odd;
      }
    }
  }
}
static void lines(Number* data, int n, int count, int sign) {
  for (int i = 0; i < count; i++) {
    line(data + (size_t)i * n, n, sign);
  }
}
#endif

/** Counts of an exchange of [outer][own lines][n]. Blocks are padded to one size where it is MPI_Alltoall. */
static void set_turn(Turn* turn, int n, int outer, int is_padded) {
  const int own = part(n, turn->ranks, turn->rank), widest = (n + turn->ranks - 1) / turn->ranks;
  int begin = 0;
  for (int k = 0; k < turn->ranks; k++) {
    turn->counts[k] = outer * (is_padded ? widest * widest : part(n, turn->ranks, k) * own);
    turn->displs[k] = begin;
    begin += turn->counts[k];
  }
}

/** From [outer][lines][n], of which this rank has its part of the lines, to [outer][its part of n][all lines]: the next
 * direction is then the innermost one. */
static void turn_over(Transform* t, const Turn* turn, int outer) {
  const int n = t->n, p = turn->ranks, own = part(n, p, turn->rank);
  for (int k = 0; k < p; k++) {
    Number* at = t->buffer + turn->displs[k];
    const int count = part(n, p, k), begin = offset(n, p, k);
    for (int o = 0; o < outer; o++) {
      for (int i = 0; i < own; i++, at += count) {
        const Number* from = t->data + ((size_t)o * own + i) * n + begin;
        memcpy(at, from, (size_t)count * sizeof(Number));
      }
    }
  }
  const double begin = MPI_Wtime();
  if (t->is_padded) {
    t->calls->alltoall(t->buffer, turn->counts[0], MPI_C_DOUBLE_COMPLEX, t->data, turn->counts[0], MPI_C_DOUBLE_COMPLEX,
                       turn->comm);
  } else {
    t->calls->alltoallv(t->buffer, turn->counts, turn->displs, MPI_C_DOUBLE_COMPLEX, t->data, turn->counts,
                        turn->displs, MPI_C_DOUBLE_COMPLEX, turn->comm);
  }
  t->in_communication += MPI_Wtime() - begin;
  for (int k = 0; k < p; k++) {
    const Number* at = t->data + turn->displs[k];
    const int count = part(n, p, k), first = offset(n, p, k);
    for (int o = 0; o < outer; o++) {
      for (int i = 0; i < count; i++, at += own) {
        for (int j = 0; j < own; j++) {
          t->buffer[((size_t)o * own + j) * n + first + i] = at[j];
        }
      }
    }
  }
  Number* kept = t->data;
  t->data = t->buffer;
  t->buffer = kept;
}

/** Moves the outer index inwards, so that the next exchange is over it: [a][b][n] to [b][a][n]. */
static void swap_outer(Transform* t, int a, int b) {
  for (int i = 0; i < a; i++) {
    for (int j = 0; j < b; j++) {
      memcpy(t->buffer + ((size_t)j * a + i) * t->n, t->data + ((size_t)i * b + j) * t->n,
             (size_t)t->n * sizeof(Number));
    }
  }
  Number* kept = t->data;
  t->data = t->buffer;
  t->buffer = kept;
}

/** Which points are this rank's: z of x-pencils and y of z-pencils by its row, y of x-pencils and x of the others by
 * its column. */
static int by_row(const Transform* t) {
  return part(t->n, t->rows, t->row);
}
static int by_column(const Transform* t) {
  return part(t->n, t->columns, t->column);
}
static size_t points_of(const Transform* t) {
  return (size_t)by_row(t) * by_column(t) * t->n;
}

/** [z][y][x] to [z][x][y], [x][z][y] and [x][y][z], the last of which is complete on this rank. */
static void forth(Transform* t) {
  const int rows = by_row(t), columns = by_column(t);
  lines(t->data, t->n, rows * columns, -1);
  turn_over(t, &t->across, rows);
  lines(t->data, t->n, rows * columns, -1);
  swap_outer(t, rows, columns);
  turn_over(t, &t->along, columns);
  lines(t->data, t->n, rows * columns, -1);
}

/** The same way back, and divided by the number of points. */
static void back(Transform* t) {
  const int rows = by_row(t), columns = by_column(t);
  const double scale = 1.0 / ((double)t->n * t->n * t->n);
  lines(t->data, t->n, rows * columns, 1);
  turn_over(t, &t->along, columns);
  lines(t->data, t->n, rows * columns, 1);
  swap_outer(t, columns, rows);
  turn_over(t, &t->across, rows);
  lines(t->data, t->n, rows * columns, 1);
  for (size_t k = 0; k < points_of(t); k++) {
    t->data[k] *= scale;
  }
}

static double run_transform(void* context, int repeats) {
  Transform* t = context;
  t->in_communication = 0;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    forth(t);
    back(t);
  }
  const double seconds = MPI_Wtime() - begin;
  t->share = seconds > 0 ? t->in_communication / seconds : 0;
  return seconds / repeats;
}

/** The transform of a plane wave is a single peak at its frequencies, and the way back gives the wave again. */
static int verify_transform(void* context) {
  Transform* t = context;
  const int n = t->n, rows = by_row(t), columns = by_column(t), wave[3] = {1, n / 2 - 1, n - 3};
  const int z0 = offset(n, t->rows, t->row), y0 = offset(n, t->columns, t->column);
  for (size_t k = 0; k < points_of(t); k++) {
    const int x = (int)(k % (size_t)n), y = y0 + (int)(k / (size_t)n) % columns,
              z = z0 + (int)(k / (size_t)n) / columns;
    t->original[k] = cexp(2 * M_PI * I * ((double)wave[0] * x + (double)wave[1] * y + (double)wave[2] * z) / n);
    t->data[k] = t->original[k];
  }
  int right = 1;
  forth(t);
  for (size_t k = 0; k < points_of(t); k++) {
    const int z = (int)(k % (size_t)n), y = z0 + (int)(k / (size_t)n) % rows, x = y0 + (int)(k / (size_t)n) / rows;
    const double peak = x == wave[0] && y == wave[1] && z == wave[2] ? (double)n * n * n : 0;
    right = right && cabs(t->data[k] - peak) < 1e-8 * n * n * n;
  }
  back(t);
  for (size_t k = 0; k < points_of(t); k++) {
    right = right && cabs(t->data[k] - t->original[k]) < 1e-9 * n;
  }
  return right;
}

static void begin_turn(Turn* turn, int colour) {
  MPI_Comm_split(MPI_COMM_WORLD, colour, machine.rank, &turn->comm);
  MPI_Comm_rank(turn->comm, &turn->rank);
  MPI_Comm_size(turn->comm, &turn->ranks);
  turn->counts = allocate(2 * (size_t)turn->ranks * sizeof(int));
  turn->displs = turn->counts + turn->ranks;
}

static void measure_transform(Transform* mpi, int n) {
  const size_t most =
      (size_t)(n / mpi->rows + 1) * (size_t)(n / mpi->columns + 1) * (size_t)(n + mpi->rows + mpi->columns);
  mpi->n = n;
  set_turn(&mpi->across, n, by_row(mpi), mpi->is_padded);
  set_turn(&mpi->along, n, by_column(mpi), mpi->is_padded);
  mpi->data = allocate(most * sizeof(Number));
  mpi->buffer = allocate(most * sizeof(Number));
  mpi->original = allocate(most * sizeof(Number));
  Transform laneway = *mpi;
  laneway.calls = &our_calls;
  Case what = {.group = "application",
               .benchmark = mpi->is_padded ? "fft_alltoall" : "fft_alltoallv",
               .where = machine.nodes > 1 ? "between" : "inside",
               .pattern = engine};
  what.bytes = 16LL * n * n * n;
  // 5 N log2 N is the usual count, forth and back.
  what.work = 2 * 5.0 * (double)n * n * n * 3 * log2(n);
  Candidate candidates[3] = {
      {.name = "mpi", .run = run_transform, .context = mpi, .verify = verify_transform, .shares = &mpi->share}};
  int count = 1;
  if (options.control) {
    candidates[count] = candidates[0];
    candidates[count++].name = "control";
  }
  if (mpi->is_padded ? our_calls.alltoall != NULL : our_calls.alltoallv != NULL) {
    candidates[count++] = (Candidate){.name = "laneway",
                                      .run = run_transform,
                                      .context = &laneway,
                                      .verify = verify_transform,
                                      .shares = &laneway.share};
  }
  laneway.data = allocate(most * sizeof(Number));
  laneway.buffer = allocate(most * sizeof(Number));
  measure(&what, candidates, count, MPI_COMM_WORLD);
  free(mpi->data);
  free(mpi->buffer);
  free(mpi->original);
  free(laneway.data);
  free(laneway.buffer);
}

void run_fft(const char* benchmark) {
  Transform t = {.calls = &mpi_calls, .is_padded = !strcmp(benchmark, "fft_alltoall")};
  const Case both = {.group = "application", .benchmark = benchmark, .where = "", .bytes = -1};
  leave_out(&both, "heffte",
            "heFFTe is a C++ library of its own build, and what measures is one C program for each mpicc");
  int grid[2] = {0, 0};
  MPI_Dims_create(machine.ranks, 2, grid);
  t.rows = grid[1];
  t.columns = grid[0];
  t.row = machine.rank / t.columns;
  t.column = machine.rank % t.columns;
  begin_turn(&t.across, t.row);
  begin_turn(&t.along, t.column);
  for (int n = 16; n <= options.grid; n *= 2) {
    measure_transform(&t, n);
  }
  MPI_Comm_free(&t.across.comm);
  MPI_Comm_free(&t.along.comm);
  free(t.across.counts);
  free(t.along.counts);
}
