// Times files with very many small variables, which the processes put and get independently: the costs of
// definitions. bench/files runs it.
#include <string>
#include <vector>

#include "file_case.hpp"

namespace {

using namespace sluice::bench;

constexpr int variables = 2000;
constexpr MPI_Offset length = 4;  // of the part of a process
constexpr int redefinitions = 200;

std::string name_of(const char* kind, int number) {
  return kind + std::to_string(number);
}

int define_variable(int file, int number, int dimension) {
  int id = 0;
  check(ncmpi_def_var(file, name_of("variable_", number).c_str(), NC_INT, 1, &dimension, &id), "variable");
  check(ncmpi_put_att_text(file, id, "units", 6, "metres"), "units");
  return id;
}

int define_dimension(int file, int number) {
  int id = 0;
  check(ncmpi_def_dim(file, name_of("x_", number).c_str(), length * process_count, &id), "dimension");
  return id;
}

void define_on_one_dimension(int file) {
  const int dimension = define_dimension(file, 0);
  for (int i = 0; i < variables; ++i) (void)define_variable(file, i, dimension);
}

void define_on_own_dimensions(int file) {
  for (int i = 0; i < variables; ++i) {
    const int id = define_variable(file, i, define_dimension(file, i));
    const int range[] = {0, i};
    check(ncmpi_put_att_int(file, id, "valid_range", NC_INT, 2, range), "valid_range");
  }
}

void define_first(int file) {
  (void)define_variable(file, 0, define_dimension(file, 0));
}

void put_part(int file, int number) {
  const MPI_Offset start = length * rank_of_process;
  const int values[length] = {number, rank_of_process, 2, 3};
  check(ncmpi_put_vara_int(file, number, &start, &length, values), "put");
}

void put_all(int file, int count) {
  check(ncmpi_begin_indep_data(file), "begin independent mode");
  for (int i = 0; i < count; ++i) put_part(file, i);
  check(ncmpi_end_indep_data(file), "end independent mode");
}

/// Each variable by one process.
void put_own(int file) {
  check(ncmpi_begin_indep_data(file), "begin independent mode");
  for (int i = rank_of_process; i < variables; i += process_count) {
    const std::vector<int> values(static_cast<std::size_t>(length * process_count), i);
    check(ncmpi_put_var_int(file, i, values.data()), "put a variable");
  }
  check(ncmpi_end_indep_data(file), "end independent mode");
}

/// One variable more in each define mode; the data is put at the end.
void redefine(int file) {
  for (int i = 1; i < redefinitions; ++i) {
    check(ncmpi_redef(file), "redef");
    (void)define_variable(file, i, 0);
    check(ncmpi_enddef(file), "enddef");
  }
  put_all(file, redefinitions);
}

void get_all(int file) {
  int count = 0;
  check(ncmpi_inq_nvars(file, &count), "number of variables");
  check(ncmpi_begin_indep_data(file), "begin independent mode");
  for (int i = 0; i < count; ++i) {
    int id = -1;
    check(ncmpi_inq_varid(file, name_of("variable_", i).c_str(), &id), "a variable");
    int values[length];
    const MPI_Offset start = length * rank_of_process;
    check(ncmpi_get_vara_int(file, id, &start, &length, values), "get");
  }
  check(ncmpi_end_indep_data(file), "end independent mode");
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = begin_program(argc, argv);
  const std::int64_t bytes = 4 * length * process_count;
  const Case cases[] = {{"2000 variables",
                         variables * bytes,
                         define_on_one_dimension,
                         [](int file) { put_all(file, variables); },
                         get_all,
                         {}},
                        {"own dimensions", variables * bytes, define_on_own_dimensions, put_own, get_all, {}},
                        {"200 redefinitions", redefinitions * bytes, define_first, redefine, get_all, {}}};
  for (const auto& test : cases) {
    if (arguments.only.empty() || arguments.only == test.name) run(test, arguments);
  }
  MPI_Finalize();
  return 0;
}
