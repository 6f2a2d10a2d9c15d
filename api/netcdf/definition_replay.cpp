#include "definition_replay.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace sluice::api::netcdf {

namespace {

constexpr std::size_t most_records = 8;
constexpr std::size_t most_bytes_of_records = std::size_t{32} << 20;  // of one, and of all that are kept

std::mutex records_mutex;

/// The newest first. Never destroyed, because programs call netCDF while they end.
auto& kept_records() {
  static auto& records = *new std::vector<std::shared_ptr<const DefinitionReplay>>;
  return records;
}

std::uint32_t changes_before(const std::string& question) noexcept {
  std::uint32_t changes = 0;
  question.copy(reinterpret_cast<char*>(&changes), sizeof changes);
  return changes;
}

}  // namespace

DefinitionReplay::DefinitionReplay(std::string kind) : kind_(std::move(kind)) {
  const std::lock_guard lock(records_mutex);
  for (const auto& record : kept_records())
    if (earlier_ == nullptr && record->kind_ == kind_) earlier_ = record;
}

bool DefinitionReplay::begins_like(const DefinitionReplay& other, std::size_t calls) const {
  const auto is_same = [](const auto& a, const auto& b) { return a == b || a->question == b->question; };
  return kind_ == other.kind_ && calls_.size() >= calls && other.calls_.size() >= calls &&
         std::equal(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(calls), other.calls_.begin(),
                    is_same);
}

std::string DefinitionReplay::question(int group, const char* function) const {
  std::string text(reinterpret_cast<const char*>(&changes_), sizeof changes_);
  text.append(reinterpret_cast<const char*>(&group), sizeof group);
  text += function;
  text += '\0';
  return text;
}

const RecordedCall* DefinitionReplay::next(const std::string& question) {
  const auto fits = [&](const auto& record) {
    return position_ < record->calls_.size() && record->calls_[position_]->question == question;
  };
  if (!fits(earlier_)) {
    const std::lock_guard lock(records_mutex);
    const auto other = std::ranges::find_if(kept_records(), [&](const auto& record) {
      return fits(record) && record->begins_like(*earlier_, position_);
    });
    if (other == kept_records().end()) return nullptr;
    earlier_ = *other;
  }
  const RecordedCall& call = *earlier_->calls_[position_++];
  if (call.is_change) ++changes_;
  return &call;
}

std::optional<int> DefinitionReplay::next_attribute(const AttributePlace& place, const RecordedCall& own) {
  const RecordedCall* const known = next(own.question);
  if (known == nullptr) return std::nullopt;
  const bool is_other = known->results != own.results;
  if (known->status != 0 || (!is_other && !changed_.contains(place))) return known->status;
  if (is_other) own_[position_ - 1] = std::make_shared<const RecordedCall>(own);
  changed_[place] = own.results;
  return 0;
}

const RecordedCall* DefinitionReplay::find(const std::string& question) const {
  const auto found = earlier_->inquiries_.find(question);
  return found == earlier_->inquiries_.end() ? nullptr : &found->second;
}

int DefinitionReplay::repeat(const ProgramLibrary& library, int shadow) {
  const auto earlier = std::exchange(earlier_, nullptr);
  for (std::size_t i = 0; i < position_; ++i) {
    const auto own = own_.find(i);
    const auto& call = own == own_.end() ? earlier->calls_[i] : own->second;
    const int status = call->repeat ? call->repeat(library, shadow) : 0;
    if (status != call->status) {
      give_up();
      return status != 0 ? status : call->status;
    }
    calls_.push_back(call);
    count(*call);
  }
  if (!std::exchange(changed_, {}).empty()) return 0;  // some answers are others
  for (const auto& [question, inquiry] : earlier->inquiries_)
    if (changes_before(question) <= changes_ && inquiries_.emplace(question, inquiry).second) count(inquiry);
  return 0;
}

void DefinitionReplay::count(const RecordedCall& call) {
  constexpr std::size_t bytes_of_entry = 512;
  bytes_ += bytes_of_entry + 3 * call.question.size() + call.results.size() + call.bytes;
  if (bytes_ > most_bytes_of_records) give_up();
}

void DefinitionReplay::add(RecordedCall call) {
  if (call.is_change) ++changes_;
  if (!is_recording_) return;
  count(call);
  calls_.push_back(std::make_shared<const RecordedCall>(std::move(call)));
}

void DefinitionReplay::add_inquiry(RecordedCall inquiry) {
  if (!is_recording_) return;
  count(inquiry);
  std::string question = std::exchange(inquiry.question, {});
  inquiries_.insert_or_assign(std::move(question), std::move(inquiry));
}

void DefinitionReplay::keep(const std::shared_ptr<const DefinitionReplay>& replay) {
  if (!replay->is_recording_) return;
  const auto record = replay->is_replaying() ? replay->earlier_ : replay;
  const std::lock_guard lock(records_mutex);
  auto& records = kept_records();
  std::erase_if(records, [&](const auto& other) {
    return other == record || (other->calls_.size() == record->calls_.size() &&
                               other->begins_like(*record, record->calls_.size()));
  });
  records.insert(records.begin(), record);
  std::size_t bytes = 0;
  std::size_t kept = 0;
  while (kept < std::min(records.size(), most_records) &&
         (bytes += records[kept]->bytes_) <= most_bytes_of_records)
    ++kept;
  records.resize(kept);
}

}  // namespace sluice::api::netcdf
