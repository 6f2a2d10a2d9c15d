#pragma once
// Tools for targets that use the interface: MPI, and a file for each input.
#include <mpi.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace sluice::fuzz {

/// The file for the inputs, one after another, in a directory of this process.
class Scratch {
 public:
  Scratch() : folder_(std::filesystem::temp_directory_path() / ("sluice-fuzz-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string write(const std::uint8_t* data, std::size_t size) const {
    const auto path = folder_ / "input.nc";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    return path;
  }

 private:
  std::filesystem::path folder_;
};

/// MPI for the life of the process.
struct Mpi {
  Mpi() { MPI_Init(nullptr, nullptr); }
  ~Mpi() { MPI_Finalize(); }
};

}  // namespace sluice::fuzz
