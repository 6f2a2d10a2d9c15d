// lists writer|reader SEED STEPS WRITERS READERS: an ordinary PnetCDF program whose variables are put and got
// by shared lists of boxes, in one wait, as in climate models. In each step some variables differ from the
// others in one random thing. Both sides know all steps by the seed. The exit status is 1 if any element is
// wrong.
#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using Random = std::mt19937_64;

constexpr MPI_Offset rows = 24;
constexpr MPI_Offset columns = 40;
constexpr int variables = 12;

int draw(Random& random, int end) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(end));
}

void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  std::fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct Box {
  MPI_Offset start[3] = {};  ///< record, row, column
  MPI_Offset count[3] = {1, 1, 1};
};
using Boxes = std::vector<Box>;

/// One put of a variable.
struct Put {
  int variable = 0;
  Boxes boxes;
  int serial = 0;
};

/// The puts of one writer in its rows, with random differences.
std::vector<Put> puts_of(Random& random, int writer, int writers) {
  Boxes list;
  for (MPI_Offset row = writer; row < rows; row += writers) {
    for (MPI_Offset column = draw(random, 3); column < columns; column += 2 + draw(random, 2))
      list.push_back({{0, row, column}});
  }
  const bool is_as_ever = draw(random, 3) == 0;
  std::vector<Put> puts;
  for (int variable = 0; variable < variables; ++variable) {
    Put put{variable, list, writer * 1000 + variable};
    const int change = is_as_ever || draw(random, 4) != 0 ? 0 : 1 + draw(random, 7);
    const auto some = static_cast<std::size_t>(draw(random, static_cast<int>(list.size()) - 1));
    if (change == 1) std::swap(put.boxes[some], put.boxes[some + 1]);
    if (change == 2) put.boxes.pop_back();
    if (change == 3) put.boxes[some].count[2] = std::min<MPI_Offset>(2, columns - put.boxes[some].start[2]);
    if (change == 4) put.boxes[some].start[2] = columns - 1;  // perhaps the same box again
    if (change == 5) continue;
    puts.push_back(put);
    if (change == 6) puts.push_back({variable, {put.boxes[some]}, put.serial + 500});
    if (change == 7) puts.push_back({variable, list, put.serial + 500});
  }
  if (draw(random, 4) == 0) std::reverse(puts.begin(), puts.end());
  return puts;
}

float value_of(int step, int serial, std::size_t position) {
  return static_cast<float>(step * 17 + serial) + 0.001F * static_cast<float>(position % 1000);
}

std::size_t elements_of(const Boxes& boxes) {
  std::size_t elements = 0;
  for (const Box& box : boxes) elements += static_cast<std::size_t>(box.count[1] * box.count[2]);
  return elements;
}

/// Calls use(place in the variable) for each element, in order.
template <class Use>
void for_each_element(const Boxes& boxes, Use use) {
  for (const Box& box : boxes) {
    for (MPI_Offset i = 0; i < box.count[1]; ++i) {
      for (MPI_Offset j = 0; j < box.count[2]; ++j)
        use(static_cast<std::size_t>((box.start[1] + i) * columns + box.start[2] + j));
    }
  }
}

struct Step {
  std::vector<std::vector<Put>> puts;  ///< by writer
  std::vector<Boxes> gets;             ///< by reader: all variables except the last one, which is read whole
};

Step make_step(Random& random, int writers, int readers) {
  Step step;
  for (int writer = 0; writer < writers; ++writer) step.puts.push_back(puts_of(random, writer, writers));
  for (int reader = 0; reader < readers; ++reader) {
    Boxes list;
    for (MPI_Offset row = 0; row < rows; ++row) {
      const MPI_Offset first = draw(random, columns - 8);
      list.push_back({{0, row, first}, {1, 1, 1 + draw(random, 8)}});
    }
    step.gets.push_back(list);
  }
  return step;
}

struct Pointers {
  explicit Pointers(Boxes& boxes) {
    for (Box& box : boxes) {
      starts.push_back(box.start);
      counts.push_back(box.count);
    }
  }
  std::vector<MPI_Offset*> starts, counts;
};

std::string name_of(int step) {
  return "lists_" + std::to_string(step) + ".nc";
}

void write_step(int number, Step& step, int rank) {
  int file = 0;
  check(ncmpi_create(MPI_COMM_WORLD, name_of(number).c_str(), NC_CLOBBER, MPI_INFO_NULL, &file), "create");
  int dimids[3];
  check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dimids[0]), "def_dim");
  check(ncmpi_def_dim(file, "row", rows, &dimids[1]), "def_dim");
  check(ncmpi_def_dim(file, "column", columns, &dimids[2]), "def_dim");
  for (int variable = 0; variable < variables; ++variable) {
    int varid = 0;
    const nc_type type = variable % 5 == 4 ? NC_DOUBLE : NC_FLOAT;
    check(ncmpi_def_var(file, ("v" + std::to_string(variable)).c_str(), type, 3, dimids, &varid), "def_var");
    const float fill = -1;
    check(ncmpi_put_att_float(file, varid, "_FillValue", type, 1, &fill), "put_att");
  }
  check(ncmpi_enddef(file), "enddef");
  std::vector<std::vector<float>> values;
  for (Put& put : step.puts[static_cast<std::size_t>(rank)]) {
    auto& data = values.emplace_back(elements_of(put.boxes));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = value_of(number, put.serial, i);
    const Pointers pointers(put.boxes);
    check(ncmpi_iput_varn_float(file, put.variable, static_cast<int>(put.boxes.size()),
                                pointers.starts.data(), pointers.counts.data(), data.data(), nullptr),
          "iput_varn");
  }
  check(ncmpi_wait_all(file, NC_PUT_REQ_ALL, nullptr, nullptr), "wait_all");
  check(ncmpi_close(file), "close");
}

/// The contents of each variable after all puts.
std::vector<std::vector<float>> contents_of(int number, const Step& step) {
  std::vector<std::vector<float>> contents(variables, std::vector<float>(rows * columns, -1));
  for (const auto& puts : step.puts) {
    for (const Put& put : puts) {
      std::size_t position = 0;
      for_each_element(put.boxes, [&](std::size_t place) {
        contents[static_cast<std::size_t>(put.variable)][place] = value_of(number, put.serial, position++);
      });
    }
  }
  return contents;
}

bool read_step(int number, Step& step, int rank) {
  int file = 0;
  check(ncmpi_open(MPI_COMM_WORLD, name_of(number).c_str(), NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  Boxes own = step.gets[static_cast<std::size_t>(rank)];
  Boxes whole{{{0, 0, 0}, {1, rows, columns}}};
  const Pointers own_pointers(own);
  const Pointers whole_pointers(whole);
  std::vector<std::vector<float>> values;
  for (int variable = 0; variable < variables; ++variable) {
    const bool is_last = variable + 1 == variables;
    const Pointers& pointers = is_last ? whole_pointers : own_pointers;
    auto& data = values.emplace_back(elements_of(is_last ? whole : own), -2.0F);
    check(ncmpi_iget_varn_float(file, variable, static_cast<int>(pointers.starts.size()),
                                pointers.starts.data(), pointers.counts.data(), data.data(), nullptr),
          "iget_varn");
  }
  check(ncmpi_wait_all(file, NC_GET_REQ_ALL, nullptr, nullptr), "wait_all");
  check(ncmpi_close(file), "close");
  const auto contents = contents_of(number, step);
  for (int variable = 0; variable < variables; ++variable) {
    const auto v = static_cast<std::size_t>(variable);
    std::size_t position = 0;
    bool is_right = true;
    for_each_element(variable + 1 == variables ? whole : own, [&](std::size_t place) {
      is_right = is_right && values[v][position++] == contents[v][place];
    });
    if (is_right) continue;
    std::fprintf(stderr, "step %d, variable %d: rank %d got other values\n", number, variable, rank);
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
  const bool writes = std::string(argv[1]) == "writer";
  Random random(std::strtoull(argv[2], nullptr, 10));
  const int steps = std::atoi(argv[3]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bool is_right = true;
  Step step;
  for (int number = 0; number < steps; ++number) {
    // Half of the steps repeat the previous one.
    if (number == 0 || draw(random, 2) == 0) step = make_step(random, std::atoi(argv[4]), std::atoi(argv[5]));
    if (writes) {
      write_step(number, step, rank);
    } else {
      is_right = read_step(number, step, rank) && is_right;
    }
  }
  MPI_Finalize();
  return is_right ? 0 : 1;
}
