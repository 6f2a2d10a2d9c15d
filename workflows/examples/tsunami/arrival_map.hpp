#pragma once
#include <mpi.h>

#include <string>
#include <vector>

#include "wave_file.hpp"

namespace tsunami {

/// What an analysis keeps of all snapshots of its band: when the wave came, how high and how fast it was at
/// most.
class ArrivalMap {
 public:
  /// `threshold_m`: the wave has arrived where the sea level first differs from rest by this much.
  explicit ArrivalMap(double threshold_m) : threshold_m_(threshold_m) {}

  /// Takes one snapshot. All must have the same grid: throws std::runtime_error otherwise.
  void add(const WaveBand& band);
  [[nodiscard]] int snapshots() const noexcept { return snapshots_; }
  /// Highest sea level so far in this rank's band, in m.
  [[nodiscard]] float highest() const noexcept { return highest_; }

  /// Writes arrival_time (s), maximum_height (m) and maximum_speed (m/s). Collective.
  void write(MPI_Comm comm, const std::string& path) const;

 private:
  double threshold_m_;
  int snapshots_ = 0;
  float highest_ = 0;
  WaveBand shape_;  ///< axes and place of the band
  std::vector<float> arrival_time_, maximum_height_, maximum_speed_;
};

}  // namespace tsunami
