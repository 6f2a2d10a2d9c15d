#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sluice/formats/file_space.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/formats/subfiles.hpp"

namespace sluice::formats {

/// The headers of a master and its subfiles, encoded directly from the user's header. They can have very many
/// attributes, and no process needs all of them as objects. Files are numbered from 0, the master. Keeps
/// references.
class SubfileHeaders {
 public:
  /// Throws Error(NC_EMAXNAME, NC_ENAMEINUSE) if a rename has made the names in the files impossible.
  SubfileHeaders(const Header& header, const Subfiling& subfiling);
  ~SubfileHeaders();

  [[nodiscard]] std::int64_t encoded_size(int file) const;
  /// `header_size_bytes` comes from encoded_size. `begins`: the begins of the file's variables.
  [[nodiscard]] std::vector<std::byte> encode(int file, std::int64_t header_size_bytes,
                                              std::span<const std::int64_t> begins) const;

  /// As compute_layout; `header_size_bytes` comes from encoded_size.
  [[nodiscard]] FileSections lay_out(int file, std::int64_t header_size_bytes, const LayoutOptions& options,
                                     const FileSections* previous) const;

 private:
  struct Names;

  void check_names() const;
  void number_dimensions();
  template <class Writer>
  void put_master(Writer writer, std::span<const std::int64_t> begins) const;
  template <class Writer>
  void put_master_variable(Writer& writer, int varid, std::int64_t begin) const;
  template <class Writer>
  void put_subfile(Writer writer, int subfile, std::span<const std::int64_t> begins) const;
  template <class Writer>
  void put_ranges(Writer& writer, int varid, int subfile) const;

  /// A dimension of the subfiles, identified by its first use.
  struct Use {
    int varid = 0;
    std::size_t index = 0;
  };

  const Header& header_;
  const Subfiling& subfiling_;
  std::unique_ptr<Names> names_;
  std::vector<Use> dimensions_;  ///< dimensions of each subfile
  std::vector<int>
      dimids_;  ///< dimension ids in the subfiles, for all dimensions of all divided variables in order
};

/// One file's variables as plain bytes at these positions: enough to move their data.
[[nodiscard]] FileDescription as_bytes(const Header& dataset, const Subfiling& subfiling, int file,
                                       const FileSections& sections);

}  // namespace sluice::formats
