#include "cached_steps.hpp"

#include <algorithm>
#include <utility>

#include "sluice/runtime/read_lists.hpp"

namespace sluice::runtime {

matcher::StepIndex& CachedStep::updated_index(matcher::SegmentMemory& memory, bool is_by_writer) {
  const bool sees_more = is_by_writer && !view->is_final && view->publish_at == matcher::PublishAt::sync;
  auto& wanted = sees_more ? writers_index : index;
  if (wanted == nullptr) {
    auto made = std::make_unique<matcher::StepIndex>(memory);
    made->set_header(view->header);
    wanted = std::move(made);
  }
  wanted->update(view->logs, view->is_final,
                 sees_more ? matcher::Visibility::everything : matcher::Visibility::published);
  return *wanted;
}

matcher::StepIndex& CachedStep::index_for(matcher::SegmentMemory& memory, const Get& request) {
  const bool has_others = view->first_own_log > 0 || view->is_continued();
  if (!view->is_final || !view->is_apart || !has_others || request.accesses.empty())
    return updated_index(memory, request.is_by_writer);
  if (added_index == nullptr) {
    auto made = std::make_unique<matcher::StepIndex>(memory);
    made->take_behind(*view, view->begins());
    added_index = std::move(made);
  }
  const bool is_added = std::ranges::all_of(request.accesses, [&](const ReadAccess& access) {
    return std::ranges::all_of(slabs_of(list_of(request, access)), [&](const formats::HyperslabView& slab) {
      return added_index->is_added(access.varid, slab, view->pattern.base_record);
    });
  });
  return is_added ? *added_index : updated_index(memory, request.is_by_writer);
}

std::int64_t CachedStep::record_count() const noexcept {
  return index == nullptr ? view->record_count : view->records_of_readers(index->records_end());
}

CachedStep* CachedSteps::find(std::uint64_t step) {
  const auto found = steps_.find(step);
  return found == steps_.end() ? nullptr : &found->second;
}

CachedStep& CachedSteps::take(matcher::StepView view) {
  CachedStep& known = steps_[view.step];
  if (known.view != nullptr && view.header_revision == known.view->header_revision) {
    view.header = known.view->header;
  } else {
    known.index.reset();
    known.writers_index.reset();
  }
  if (view.is_final) known.writers_index.reset();
  view.note_logs();
  known.view = std::make_shared<const matcher::StepView>(std::move(view));
  return known;
}

}  // namespace sluice::runtime
