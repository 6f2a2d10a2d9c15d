#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver.hpp"
#include "gather_runs.hpp"
#include "header_probe.hpp"
#include "open_driver.hpp"
#include "pending_puts.hpp"
#include "sluice/formats/blob_placement.hpp"
#include "split_files.hpp"

namespace sluice::api {

/// A master and its blob files: docs/formats/blobs.md. Puts to a variable stay in memory until the elements
/// of each process are known (flush_pending). Then the variable gets its place, and later accesses go to the
/// file as usual.
class BlobDriver final : public Driver {
 public:
  struct OpenInfo {
    formats::Blobs blobs;
    formats::Header header;                 ///< for an existing dataset: the user's header
    SplitFiles::Descriptions descriptions;  ///< empty for a new dataset
    SplitFiles::OpenInfo files;
    std::int64_t pending_bytes = 0;  ///< limit of a process for data kept in memory
    formats::MapLoader load;         ///< for a read-only dataset; otherwise the maps contain their runs
  };

  /// `comm` outlives the driver.
  BlobDriver(const Communicator& comm, FileSet files, const FileOptions& options, OpenInfo open_info);

  [[nodiscard]] std::string_view kind() const noexcept override { return "blobs"; }

  void use_layout_options(const formats::LayoutOptions&, const formats::LayoutOptions& agreed) override {
    layout_options_ = agreed;
  }
  void write_header(const formats::Header& header, const formats::Layout& layout) override;
  void move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                 const formats::Header& new_header, const formats::Layout& new_layout) override;
  void fill(const formats::Header& header, const formats::Layout& layout, int varid,
            std::int64_t first_record, std::int64_t records) override;
  void put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  void get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  std::int64_t agree_record_count(std::int64_t local, Mode mode) override;
  void end_independent() override { flush_pending(); }
  void sync() override;
  void flush(Mode mode) override {
    if (mode == Mode::collective) flush_pending();
  }
  void close(const formats::Header& header) override;
  void discard(bool is_new) override { files_.discard(is_new); }

 private:
  [[nodiscard]] const Communicator& comm() const noexcept { return files_.comm(); }
  [[nodiscard]] bool is_undecided(int varid) const {
    return blobs_.kept[static_cast<std::size_t>(varid)] == formats::Blobs::undecided;
  }
  /// Variables without a place; the list is the same on all ranks.
  [[nodiscard]] std::vector<int> undecided() const;

  /// Collective, before a put. Flushes if the put follows pending puts of any process to the same variable,
  /// or if too much data is pending.
  void flush_before(std::span<const Access> accesses);
  /// Collective: gives a place to all variables that any process has put, and writes their data.
  void flush_pending();
  /// Collective: finds the elements of these variables that were put, and decides how to store them; adds
  /// maps.
  void decide(const std::vector<int>& variables);
  int add_map(int varid, const std::vector<formats::ElementRun>& runs);
  /// Collective: applies the decisions to the files.
  void lay_out_again();
  void write_new_maps(std::size_t known_maps);
  void write_pending();
  void place();
  /// Collective: extends the files to their full length.
  void lengthen();
  /// By file and current id of a variable: its new id.
  [[nodiscard]] std::vector<std::vector<int>> new_ids() const;
  [[nodiscard]] SplitFiles::Descriptions lay_out(const std::vector<std::vector<int>>& ids) const;

  SplitFiles files_;
  SplitFiles::Descriptions descriptions_;  ///< of the files
  formats::Blobs blobs_;
  /// The map for a pattern of puts and the lengths of the dimensions, or Blobs::whole.
  std::map<std::pair<PatternId, std::vector<std::int64_t>>, int> map_of_pattern_;
  std::vector<int> order_in_files_;  ///< Blobs::order of the files
  formats::Header header_;           ///< the user's header, as in the files
  bool is_laid_out_;
  bool is_writable_;
  formats::MapLoader load_;
  std::int64_t most_pending_bytes_;
  formats::LayoutOptions layout_options_;
  std::optional<formats::BlobPlacement> placement_;
  PendingPuts pending_;
  std::vector<std::uint64_t>
      pending_variables_;  ///< a bit for each variable that any process has put in a collective call
};

/// Whether the hints request blobs: sluice_layout is "blob".
[[nodiscard]] bool are_blobs_asked(const std::map<std::string, std::string>& hints);

/// See create_file and open_file. `master` contains the data of the master's header.
[[nodiscard]] OpenedDriver create_blobs(const OpenRequest& request);
[[nodiscard]] OpenedDriver open_blobs(const OpenRequest& request, HeaderProbe master);

/// Removes the existing blob files of a master. Does nothing for a file that is not a master.
void delete_blobs(const std::string& master);

}  // namespace sluice::api
