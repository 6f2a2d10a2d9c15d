#include "test_file.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>

#include "blob_driver.hpp"
#include "file_driver.hpp"
#include "open_driver.hpp"
#include "sluice/formats/convert.hpp"
#include "subfile_driver.hpp"

namespace sluice::test {
namespace {

constexpr std::int64_t most_records = 6;

bool is_number(formats::Type type) {
  return type != formats::Type::text;
}

/// Converts whole numbers to elements of any type, and back.
void to_elements(formats::Type type, const std::vector<int>& values, std::vector<std::byte>& bytes) {
  bytes.assign(values.size() * formats::size_of(type) + 1, std::byte{0xEE});
  const auto n = static_cast<std::int64_t>(values.size());
  if (type == formats::Type::text) {
    for (std::size_t i = 0; i < values.size(); ++i) bytes[i] = static_cast<std::byte>(values[i]);
  } else {
    const int fill[2] = {0, 0};
    formats::convert_put(type, bytes.data(), formats::Type::int32, values.data(), n, fill, false);
  }
}

std::vector<int> from_elements(formats::Type type, const std::vector<std::byte>& bytes, std::size_t n) {
  std::vector<int> values(n);
  if (type == formats::Type::text) {
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<int>(bytes[i]);
  } else {
    formats::convert_get(formats::Type::int32, values.data(), type, bytes.data(),
                         static_cast<std::int64_t>(n), false);
  }
  return values;
}

formats::Type draw_type(HyperslabGenerator& random, bool is_cdf5) {
  return static_cast<formats::Type>(random.between(1, is_cdf5 ? 11 : 6));
}

}  // namespace

TestFile::TestFile(std::uint64_t seed, const api::FileOptions& options, formats::Version version, Kind kind)
    : random(seed), comm_(api::Communicator::duplicate_of(MPI_COMM_WORLD)), options_(options), kind_(kind) {
  path_ = "random.nc";
  header_.version = version;
  header_.add_dimension({"record", 0, true});
  add_variables(5);
  layout_ = formats::compute_layout(header_, {}, nullptr);
  create();
  driver_->write_header(header_, layout_);
}

void TestFile::create() {
  constexpr int mode = MPI_MODE_RDWR | MPI_MODE_CREATE;
  const bool has_blobs = kind_ == Kind::blobs;
  files_ = static_cast<int>(has_blobs ? random.between(1, comm_.size()) : random.between(2, 5));
  std::vector<std::string> paths{path_};
  for (int i = 0; i < files_ && kind_ != Kind::file; ++i)
    paths.push_back(has_blobs ? formats::blob_file_path(path_, i) : formats::subfile_path(path_, i));
  if (comm_.is_root()) {
    for (const auto& path : paths) std::remove(path.c_str());
  }
  MPI_Barrier(comm_.get());
  if (kind_ == Kind::file) {
    driver_ = std::make_unique<api::FileDriver>(
        comm_, api::FileHandle::open(comm_, path_, mode, MPI_INFO_NULL), options_,
        api::FileDriver::OpenInfo{header_.version, 0, true, false});
  } else if (kind_ == Kind::subfiles) {
    api::SubfileDriver::OpenInfo open_info;
    open_info.subfiling = formats::Subfiling(files_);
    open_info.files.is_writable = true;
    driver_ = std::make_unique<api::SubfileDriver>(comm_, api::FileSet(paths, mode, MPI_INFO_NULL), options_,
                                                   std::move(open_info));
  } else {
    api::BlobDriver::OpenInfo open_info;
    open_info.blobs.processes = comm_.size();
    open_info.blobs.files = files_;
    open_info.files.is_writable = true;
    open_info.pending_bytes = random.between(0, 20000);
    driver_ = std::make_unique<api::BlobDriver>(comm_, api::FileSet(paths, mode, MPI_INFO_NULL), options_,
                                                std::move(open_info));
  }
}

void TestFile::use_mode(api::Mode mode) {
  if (mode == api::Mode::independent && mode != mode_) driver_->flush(api::Mode::collective);
  if (mode == api::Mode::collective && mode != mode_) driver_->end_independent();
  // Others see data that blobs keep in memory only after a collective call, as MPI-IO defines it for all
  // files.
  if (mode == mode_ && mode == api::Mode::independent && kind_ == Kind::blobs) driver_->sync();
  mode_ = mode;
}

TestFile::~TestFile() {
  driver_->close(header_);
}

void TestFile::add_variables(int count) {
  for (int i = 0; i < count; ++i) {
    if (!reference_.empty() && random.chance(40)) {
      add_twin();
      continue;
    }
    const bool is_record = random.chance(50);
    ReferenceVariable reference;
    reference.shape = random.shape(static_cast<std::size_t>(random.between(is_record ? 1 : 0, 3)), 3000);
    formats::Variable variable;
    const int id = header_.variable_count();
    variable.name = "v" + std::to_string(id);
    variable.type = draw_type(random, header_.version == formats::Version::cdf5);
    if (is_record) reference.shape.front() = most_records;
    for (std::size_t d = 0; d < reference.shape.size(); ++d) {
      variable.dimids.push_back(
          is_record && d == 0
              ? header_.record_dimension()
              : header_.add_dimension({variable.name + "_" + std::to_string(d), reference.shape[d], false}));
    }
    reference.values.assign(static_cast<std::size_t>(elements_of(reference.shape)), -1);
    header_.add_variable(variable);
    reference_.push_back(reference);
  }
}

void TestFile::add_twin() {
  formats::Variable variable = header_.variable(header_.variable_count() - 1);
  variable.name = "v" + std::to_string(header_.variable_count());
  variable.begin = 0;
  if (random.chance(40)) variable.type = draw_type(random, header_.version == formats::Version::cdf5);
  header_.add_variable(variable);
  auto reference = reference_.back();
  reference.values.assign(reference.values.size(), -1);
  reference_.push_back(reference);
}

void TestFile::reopen() {
  use_mode(api::Mode::collective);
  driver_->close(header_);
  const std::map<std::string, std::string> hints;
  auto opened = api::open_file({comm_, path_, 1, MPI_INFO_NULL, hints});
  CHECK(opened.header.record_count == header_.record_count);
  CHECK(opened.header.variable_count() == header_.variable_count());
  header_ = opened.header;
  layout_ = opened.layout;
  if (kind_ != Kind::file) {
    driver_ = std::move(opened.driver);
    return;
  }
  opened.driver->close(header_);
  auto file = api::FileHandle::open(comm_, path_, MPI_MODE_RDWR, MPI_INFO_NULL);
  driver_ = std::make_unique<api::FileDriver>(
      comm_, std::move(file), options_,
      api::FileDriver::OpenInfo{header_.version, header_.record_count, true, false});
}

TestFile::Prepared TestFile::draw_access(int owner, bool overlaps, bool within_records) {
  Prepared prepared;
  const auto varid = static_cast<int>(random.between(0, header_.variable_count() - 1));
  auto shape = reference_[static_cast<std::size_t>(varid)].shape;
  if (within_records && header_.is_record_variable(varid)) shape.front() = header_.record_count;
  const std::int64_t slabs = random.chance(30) ? random.between(0, 40) : 1;
  for (std::int64_t i = 0; i < slabs && elements_of(shape) > 0; ++i) {
    auto slab = random.hyperslab(shape);
    // A rank whose puts overlap must not meet other ranks: each rank has its share of the last dimension.
    if (overlaps && !shape.empty()) {
      const std::int64_t share = shape.back() / comm_.size();
      slab.start.back() = share * owner + random.between(0, std::max<std::int64_t>(0, share - 1));
      slab.count.back() = share == 0 ? 0 : random.between(1, share * (owner + 1) - slab.start.back());
      if (!slab.stride.empty()) slab.stride.back() = 1;
    } else if (overlaps && owner != 0) {
      continue;
    }
    prepared.slabs.push_back(slab);
  }
  set_variable(prepared, varid);
  return prepared;
}

void TestFile::set_variable(Prepared& prepared, int varid) {
  for (const auto& slab : prepared.slabs) {
    prepared.views.push_back(slab.view());
    prepared.access.elements += slab.view().elements();
  }
  prepared.access.varid = varid;
  const auto type = header_.variable(varid).type;
  prepared.access.memory = is_number(type) && random.chance(50) ? formats::Type::float64 : type;
}

TestFile::Prepared TestFile::draw_next(const std::vector<Prepared>& before, int owner, bool overlaps,
                                       bool within_records) {
  if (before.empty() || random.chance(70)) return draw_access(owner, overlaps, within_records);
  const int varid = before.back().access.varid;
  std::vector<int> twins;
  for (int other = 0; other < header_.variable_count(); ++other) {
    if (header_.variable(other).dimids == header_.variable(varid).dimids) twins.push_back(other);
  }
  Prepared repetition;
  repetition.slabs = before.back().slabs;
  repetition.repeats = true;
  const auto twin = random.between(0, static_cast<std::int64_t>(twins.size()) - 1);
  set_variable(repetition, twins[static_cast<std::size_t>(twin)]);
  return repetition;
}

std::vector<api::Access> TestFile::accesses_of(std::vector<Prepared>& list) {
  std::vector<api::Access> accesses;
  for (auto& prepared : list) {
    // As with nonblocking requests that name the same list.
    prepared.access.slabs =
        prepared.repeats ? accesses.back().slabs : std::span<const formats::HyperslabView>(prepared.views);
    prepared.access.buffer = prepared.buffer.data();
    accesses.push_back(prepared.access);
  }
  return accesses;
}

template <class Visit>
void TestFile::for_each(const Prepared& prepared, const Visit& visit) const {
  const auto& reference = reference_[static_cast<std::size_t>(prepared.access.varid)];
  for (const auto& view : prepared.views) {
    for_each_element(view, [&](const std::vector<std::int64_t>& index, std::int64_t) {
      visit(position_of(reference.shape, index), index);
    });
  }
}

void TestFile::put(api::Mode mode, int list_length, bool overlaps) {
  use_mode(mode);
  const auto round = static_cast<std::size_t>(random.between(0, 50));
  std::vector<Prepared> mine;
  std::int64_t records = 0;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const std::int64_t accesses = random.chance(15) ? 0 : random.between(1, list_length);
    std::vector<Prepared> of_rank;
    for (std::int64_t i = 0; i < accesses; ++i) {
      Prepared prepared = draw_next(of_rank, rank, overlaps, false);
      auto& values = reference_[static_cast<std::size_t>(prepared.access.varid)].values;
      for_each(prepared, [&](std::size_t position, const std::vector<std::int64_t>& index) {
        std::size_t value = (position * 7 + round) % 120;
        if (overlaps) value = (value + static_cast<std::size_t>(i) * 11) % 120;
        values[position] = static_cast<int>(value);
        prepared.values.push_back(static_cast<int>(value));
        if (header_.is_record_variable(prepared.access.varid)) records = std::max(records, index[0] + 1);
      });
      to_elements(prepared.access.memory, prepared.values, prepared.buffer);
      of_rank.push_back(std::move(prepared));
    }
    if (rank == comm_.rank()) mine = std::move(of_rank);
  }
  auto accesses = accesses_of(mine);
  driver_->put(header_, layout_, accesses, mode);
  for (const auto& access : accesses) CHECK(access.status == NC_NOERR);
  header_.record_count =
      driver_->agree_record_count(std::max(records, header_.record_count), api::Mode::collective);
  MPI_Barrier(comm_.get());
}

void TestFile::get_and_check(api::Mode mode, int list_length) {
  use_mode(mode);
  std::vector<Prepared> mine;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const std::int64_t count = random.chance(15) ? 0 : random.between(1, list_length);
    std::vector<Prepared> of_rank;
    for (std::int64_t i = 0; i < count; ++i) {
      Prepared prepared = draw_next(of_rank, rank, false, true);
      prepared.buffer.resize(
          static_cast<std::size_t>(prepared.access.elements) * formats::size_of(prepared.access.memory) + 1);
      of_rank.push_back(std::move(prepared));
    }
    if (rank == comm_.rank()) mine = std::move(of_rank);
  }
  auto accesses = accesses_of(mine);
  driver_->get(header_, layout_, accesses, mode);
  int wrong = 0;
  for (const auto& prepared : mine) {
    const auto got = from_elements(prepared.access.memory, prepared.buffer,
                                   static_cast<std::size_t>(prepared.access.elements));
    const auto& values = reference_[static_cast<std::size_t>(prepared.access.varid)].values;
    std::size_t i = 0;
    for_each(prepared, [&](std::size_t position, const std::vector<std::int64_t>&) {
      const int value = got[i++];
      if (values[position] != -1 && value != values[position]) ++wrong;
    });
  }
  CHECK(wrong == 0);
}

void TestFile::check_everything() {
  use_mode(api::Mode::collective);
  for (int varid = 0; varid < header_.variable_count(); ++varid) {
    auto& reference = reference_[static_cast<std::size_t>(varid)];
    formats::Hyperslab all;
    all.count = header_.shape(varid);
    all.start.assign(all.count.size(), 0);
    const auto view = all.view();
    api::Access access;
    access.varid = varid;
    access.slabs = {&view, 1};
    access.elements = view.elements();
    access.memory = header_.variable(varid).type;
    std::vector<std::byte> buffer(
        static_cast<std::size_t>(access.elements) * formats::size_of(access.memory) + 1);
    access.buffer = buffer.data();
    driver_->get(header_, layout_, {&access, 1}, api::Mode::collective);
    const auto got = from_elements(access.memory, buffer, static_cast<std::size_t>(access.elements));
    int wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      wrong += reference.values[i] != -1 && got[i] != reference.values[i];
    INFO("variable ", varid, " of type ", formats::type_name(access.memory));
    CHECK(wrong == 0);
  }
}

void TestFile::fill() {
  use_mode(api::Mode::collective);
  const auto varid = static_cast<int>(random.between(0, header_.variable_count() - 1));
  std::int64_t first = 0;
  std::int64_t records = 1;
  if (header_.is_record_variable(varid)) {
    if (header_.record_count == 0) return;
    first = random.between(0, header_.record_count - 1);
    records = random.between(1, header_.record_count - first);
  }
  driver_->fill(header_, layout_, varid, first, records);
  const auto type = header_.variable(varid).type;
  std::vector<std::byte> value(8);
  formats::default_fill(type, value.data());
  const int fill = from_elements(type, value, 1).front();
  auto& values = reference_[static_cast<std::size_t>(varid)].values;
  const std::int64_t per_record = header_.elements_per_record(varid);
  for (std::int64_t i = first * per_record; i < (first + records) * per_record; ++i)
    values[static_cast<std::size_t>(i)] = fill;
}

void TestFile::redefine() {
  use_mode(api::Mode::collective);
  const formats::Header old_header = header_;
  const formats::Layout old_layout = layout_;
  formats::Attribute attribute{"history", formats::Type::text, random.between(1, 6000), {}};
  attribute.values.assign(static_cast<std::size_t>(attribute.count), std::byte{'x'});
  header_.attributes.put(attribute);
  add_variables(static_cast<int>(random.between(0, 3)));
  layout_ = formats::compute_layout(header_, {}, &old_layout);
  driver_->move_data(old_header, old_layout, header_, layout_);
  driver_->write_header(header_, layout_);
}

}  // namespace sluice::test
