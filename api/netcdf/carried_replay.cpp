// What a dataset does with or without a shadow: the replay of its definitions (definition_replay.hpp).
#include <mpi.h>

#include "carried_dataset.hpp"
#include "guard.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::api::netcdf {

int CarriedDataset::make_real() noexcept {
  if (!is_replaying()) return 0;
  return guard([&] {
    const int status = described->create_shadow(mode, &shadow);
    return status != 0 ? status : replay()->repeat(library, shadow);
  });
}

int CarriedDataset::settle_attributes() noexcept {
  return is_replaying() && !replay()->changed_attributes().empty() ? make_real() : 0;
}

int CarriedDataset::follow_fork() noexcept {
  if (forks == forks_so_far() || is_plain() || is_writable || is_parallel) return 0;
  const int status = library.call("nc_open", static_cast<const char*>(file.c_str()), 0, &shadow);
  if (status == 0) coupled = no_coupled;
  return status;
}

int CarriedDataset::describe_by(const char* name, const std::function<int()>& real,
                                const std::function<int(const ProgramLibrary&, int)>& repeat,
                                bool is_change) {
  if (replay() == nullptr) return real();
  RecordedCall call{replay()->question(0, name), 0, {}, is_change};
  if (is_replaying()) {
    if (const RecordedCall* const known = replay()->next(call.question))
      return known->describe(*described, replay()->changed_attributes());
    if (const int status = make_real(); status != 0) return status;
  }
  const int status = real();
  const bool is_recorded = status == 0 && guard([&] { return described->record(call) ? 0 : NC_EINVAL; }) == 0;
  if (!is_recorded) return replay()->give_up(), status;
  if (repeat != nullptr)
    call.repeat = [repeat](const ProgramLibrary& of_repetition, int other_shadow) {
      (void)repeat(of_repetition, other_shadow);
      return 0;
    };
  replay()->add(std::move(call));
  return 0;
}

int CarriedDataset::describe() {
  if (!described->has_changed()) return 0;
  return describe_by(
      "describe", [&] { return described->describe(); }, DescribedDataset::end_definitions);
}

}  // namespace sluice::api::netcdf
