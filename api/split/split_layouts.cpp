#include "split_layouts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "blob_driver.hpp"
#include "process_blob_driver.hpp"
#include "sluice/formats/blobs.hpp"
#include "sluice/formats/subfiles.hpp"
#include "subfile_driver.hpp"

namespace sluice::api {

namespace {

class BlobLayout final : public SplitLayout {
 public:
  [[nodiscard]] bool is_asked(const Hints& hints) const override { return are_blobs_asked(hints); }
  [[nodiscard]] bool has(const FoundMaster& found, const Hints& /*hints*/) const override {
    return formats::blob_file_count(found.look.header.header) > 0;
  }
  [[nodiscard]] OpenedDriver create(const OpenRequest& request) const override {
    return create_blobs(request);
  }
  [[nodiscard]] OpenedDriver open(const OpenRequest& request, FoundMaster found) const override {
    return open_blobs(request, std::move(found.look));
  }
  void remove_files_of(const std::string& master) const override { delete_blobs(master); }
  [[nodiscard]] bool is_named(matcher::Through through) const noexcept override {
    return through == matcher::Through::blobs;
  }
  void ask(Hints& hints, int /*nodes*/) const override {
    std::string& layout = hints["sluice_layout"];
    if (!layout.starts_with("blob")) layout = "blob";  // otherwise the program has chosen the kind of blobs
  }
};

/// The other kind of blobs: a program chooses it by its hint.
class ProcessBlobLayout final : public SplitLayout {
 public:
  [[nodiscard]] bool is_asked(const Hints& hints) const override { return are_process_blobs_asked(hints); }
  [[nodiscard]] bool has(const FoundMaster& found, const Hints& /*hints*/) const override {
    return formats::process_blob_file_count(found.look.header.header) > 0;
  }
  [[nodiscard]] OpenedDriver create(const OpenRequest& request) const override {
    return create_process_blobs(request);
  }
  [[nodiscard]] OpenedDriver open(const OpenRequest& request, FoundMaster found) const override {
    return open_process_blobs(request, found.look);
  }
  void remove_files_of(const std::string& master) const override { delete_process_blobs(master); }
  [[nodiscard]] bool is_named(matcher::Through /*through*/) const noexcept override { return false; }
  void ask(Hints& /*hints*/, int /*nodes*/) const override {}
};

class SubfileLayout final : public SplitLayout {
 public:
  [[nodiscard]] bool is_asked(const Hints& hints) const override { return asked_subfiles(hints) > 1; }
  [[nodiscard]] bool has(const FoundMaster& found, const Hints& hints) const override {
    const bool is_master = found.subfiles != nullptr || formats::subfile_count(found.look.header.header) > 0;
    return is_master && are_subfiles_wanted(hints);
  }
  [[nodiscard]] OpenedDriver create(const OpenRequest& request) const override {
    return create_subfiles(request);
  }
  [[nodiscard]] OpenedDriver open(const OpenRequest& request, FoundMaster found) const override {
    return open_subfiles(request, std::move(found.look), found.subfiles);
  }
  void remove_files_of(const std::string& master) const override { delete_subfiles(master); }
  [[nodiscard]] bool is_named(matcher::Through through) const noexcept override {
    return through == matcher::Through::subfiles;
  }
  /// By default there is one subfile for each node, and at least two.
  void ask(Hints& hints, int nodes) const override {
    hints.erase("sluice_layout");
    hints.emplace("nc_num_subfiles", std::to_string(std::max(nodes, 2)));
  }
};

const BlobLayout blobs;
const ProcessBlobLayout process_blobs;
const SubfileLayout subfiles;
constexpr std::array<const SplitLayout*, 3> layouts{&blobs, &process_blobs, &subfiles};

}  // namespace

std::span<const SplitLayout* const> split_layouts() noexcept {
  return layouts;
}

}  // namespace sluice::api
