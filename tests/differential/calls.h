/* The data functions of PnetCDF by number. A call is a value, so programs can go through all verbs, shapes
 * and types. */
#ifndef SLUICE_TESTS_CALLS_H
#define SLUICE_TESTS_CALLS_H

#include <mpi.h>
#include <pnetcdf.h>
#include <stddef.h>

enum verb { PUT, PUT_ALL, GET, GET_ALL, IPUT, IGET, BPUT, VERBS };
enum shape { VAR, VAR1, VARA, VARS, VARM, VARN, SHAPES };
enum memory {
  TEXT,
  SCHAR,
  UCHAR,
  SHORT,
  USHORT,
  INT,
  UINT,
  LONG,
  FLOAT,
  DOUBLE,
  LONGLONG,
  ULONGLONG,
  MEMORIES,
  FLEXIBLE
};

static const char* const verb_names[] = {"put", "put_all", "get", "get_all", "iput", "iget", "bput"};
static const char* const shape_names[] = {"var", "var1", "vara", "vars", "varm", "varn"};
static const char* const memory_names[] = {"text",     "schar",     "uchar", "short",   "ushort",
                                           "int",      "uint",      "long",  "float",   "double",
                                           "longlong", "ulonglong", "",      "flexible"};

struct call {
  enum verb verb;
  enum shape shape;
  enum memory memory;
  int ncid, varid;
  const MPI_Offset *start, *count, *stride, *imap;
  int num;
  MPI_Offset *const *starts, *const *counts;
  void* buffer;
  MPI_Offset bufcount;
  MPI_Datatype buftype;
  int* request;
};

#define WHERE c->ncid, c->varid

/* S: suffix of the type (empty in the flexible form). The others: the buffer's arguments. */
#define CALLS_OF(S, V, ...)                                                                 \
  case VAR:                                                                                 \
    return ncmpi_##V##_var##S(WHERE, __VA_ARGS__);                                          \
  case VAR1:                                                                                \
    return ncmpi_##V##_var1##S(WHERE, c->start, __VA_ARGS__);                               \
  case VARA:                                                                                \
    return ncmpi_##V##_vara##S(WHERE, c->start, c->count, __VA_ARGS__);                     \
  case VARS:                                                                                \
    return ncmpi_##V##_vars##S(WHERE, c->start, c->count, c->stride, __VA_ARGS__);          \
  case VARM:                                                                                \
    return ncmpi_##V##_varm##S(WHERE, c->start, c->count, c->stride, c->imap, __VA_ARGS__); \
  case VARN:                                                                                \
    return ncmpi_##V##_varn##S(WHERE, c->num, c->starts, c->counts, __VA_ARGS__);           \
  default:                                                                                  \
    return -9999;

#define CALL_FUNCTION(name, S, SALL, BLOCKING, NONBLOCKING)  \
  static inline int call_##name(const struct call* c) {      \
    switch (c->verb) {                                       \
      case PUT:                                              \
        switch (c->shape) { CALLS_OF(S, put, BLOCKING) }     \
      case PUT_ALL:                                          \
        switch (c->shape) { CALLS_OF(SALL, put, BLOCKING) }  \
      case GET:                                              \
        switch (c->shape) { CALLS_OF(S, get, BLOCKING) }     \
      case GET_ALL:                                          \
        switch (c->shape) { CALLS_OF(SALL, get, BLOCKING) }  \
      case IPUT:                                             \
        switch (c->shape) { CALLS_OF(S, iput, NONBLOCKING) } \
      case IGET:                                             \
        switch (c->shape) { CALLS_OF(S, iget, NONBLOCKING) } \
      case BPUT:                                             \
        switch (c->shape) { CALLS_OF(S, bput, NONBLOCKING) } \
      default:                                               \
        return -9999;                                        \
    }                                                        \
  }

#define ONE(...) __VA_ARGS__
#define TYPED_CALL(name, type) \
  CALL_FUNCTION(name, _##name, _##name##_all, (type*)c->buffer, ONE((type*)c->buffer, c->request))

TYPED_CALL(text, char)
TYPED_CALL(schar, signed char)
TYPED_CALL(uchar, unsigned char)
TYPED_CALL(short, short)
TYPED_CALL(ushort, unsigned short)
TYPED_CALL(int, int)
TYPED_CALL(uint, unsigned int)
TYPED_CALL(long, long)
TYPED_CALL(float, float)
TYPED_CALL(double, double)
TYPED_CALL(longlong, long long)
TYPED_CALL(ulonglong, unsigned long long)
CALL_FUNCTION(flexible, , _all, ONE(c->buffer, c->bufcount, c->buftype),
              ONE(c->buffer, c->bufcount, c->buftype, c->request))

static inline int do_call(const struct call* c) {
  int (*const functions[])(const struct call*) = {
      call_text, call_schar, call_uchar,  call_short,    call_ushort,    call_int, call_uint,
      call_long, call_float, call_double, call_longlong, call_ulonglong, NULL,     call_flexible};
  return functions[c->memory](c);
}

static inline int is_nonblocking(enum verb verb) {
  return verb >= IPUT;
}
static inline int is_put(enum verb verb) {
  return verb == PUT || verb == PUT_ALL || verb == IPUT || verb == BPUT;
}

static inline MPI_Datatype mpi_type_of(enum memory memory) {
  const MPI_Datatype types[] = {MPI_CHAR,     MPI_SIGNED_CHAR,    MPI_UNSIGNED_CHAR,
                                MPI_SHORT,    MPI_UNSIGNED_SHORT, MPI_INT,
                                MPI_UNSIGNED, MPI_LONG,           MPI_FLOAT,
                                MPI_DOUBLE,   MPI_LONG_LONG_INT,  MPI_UNSIGNED_LONG_LONG};
  return types[memory];
}

static inline size_t size_of_memory(enum memory memory) {
  const size_t sizes[] = {1, 1, 1, 2, 2, 4, 4, sizeof(long), 4, 8, 8, 8};
  return sizes[memory];
}

#endif
