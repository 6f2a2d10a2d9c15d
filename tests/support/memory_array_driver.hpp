#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "driver.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "support/dense_reference.hpp"

namespace sluice::test {

/// A driver for one process that keeps each variable as a dense array in its external type. Unwritten
/// elements are zero bytes. The driver counts its calls, and fails on request.
class MemoryArrayDriver : public api::Driver {
 public:
  std::vector<std::vector<std::byte>> variables;  ///< by varid
  int put_calls = 0;
  int get_calls = 0;
  std::vector<int> put_list_lengths;
  Status failure = NC_NOERR;  ///< thrown by the next put or get
  int failing_record = -1;  ///< a put that starts at this record fails with NC_ENO_SPACE; other puts succeed

  [[nodiscard]] std::string_view kind() const noexcept override { return "memory array"; }
  void write_header(const formats::Header& header, const formats::Layout&) override {
    variables.resize(static_cast<std::size_t>(header.variable_count()));
  }
  void move_data(const formats::Header&, const formats::Layout&, const formats::Header&,
                 const formats::Layout&) override {}
  void fill(const formats::Header&, const formats::Layout&, int, std::int64_t, std::int64_t) override {}

  void put(const formats::Header& header, const formats::Layout&, std::span<api::Access> accesses,
           api::Mode) override {
    ++put_calls;
    put_list_lengths.push_back(static_cast<int>(accesses.size()));
    fail_if_asked();
    for (auto& access : accesses) {
      if (failing_record >= 0 && header.is_record_variable(access.varid) &&
          access.slabs[0].start[0] == failing_record) {
        access.status = NC_ENO_SPACE;
        continue;
      }
      std::array<std::byte, 8> fill_value{};
      header.fill_value(access.varid, fill_value.data());
      access.status =
          each_element(header, access, [&](std::byte* element, std::byte* user, formats::Type external) {
            return formats::convert_put(external, element, access.memory, user, 1, fill_value.data(),
                                        is_old(header));
          });
    }
  }

  void get(const formats::Header& header, const formats::Layout&, std::span<api::Access> accesses,
           api::Mode) override {
    ++get_calls;
    fail_if_asked();
    for (auto& access : accesses) {
      access.status =
          each_element(header, access, [&](std::byte* element, std::byte* user, formats::Type external) {
            return formats::convert_get(access.memory, user, external, element, 1, is_old(header));
          });
    }
  }

  std::int64_t agree_record_count(std::int64_t local, api::Mode) override { return local; }
  void sync() override {}
  void flush(api::Mode) override {}
  void close(const formats::Header&) override {}
  void discard(bool) override {}

 private:
  static bool is_old(const formats::Header& header) { return header.version != formats::Version::cdf5; }

  void fail_if_asked() {
    const auto status = std::exchange(failure, NC_NOERR);
    if (status != NC_NOERR) throw Error(status, "the test asked for it");
  }

  template <class Work>
  int each_element(const formats::Header& header, const api::Access& access, const Work& work) {
    const auto external = header.variable(access.varid).type;
    const auto bytes = formats::size_of(external);
    auto& array = variables[static_cast<std::size_t>(access.varid)];
    auto* user = static_cast<std::byte*>(access.buffer);
    const auto shape = header.shape(access.varid);
    int status = NC_NOERR;
    for (const auto& slab : access.slabs) {
      for_each_element(slab, [&](const std::vector<std::int64_t>& index, std::int64_t) {
        const auto position = position_of(shape, index) * bytes;
        if (array.size() < position + bytes) array.resize(position + bytes);
        if (const int own = work(array.data() + position, user, external); own != NC_NOERR) status = own;
        user += formats::size_of(access.memory);
      });
    }
    return status;
  }
};

}  // namespace sluice::test
