#pragma once
#include <mpi.h>

#include <string>
#include <vector>

#include "wave_file.hpp"

namespace tsunami {

/// The results of an analysis of all snapshots of its band: arrival time, maximum height and maximum speed of
/// the wave.
class ArrivalMap {
 public:
  /// `threshold_m`: the wave arrives at a point when the sea level first differs from rest by this much, in
  /// m.
  explicit ArrivalMap(double threshold_m) : threshold_m_(threshold_m) {}

  /// Adds one snapshot. Throws std::runtime_error if its grid differs from the grid of the others.
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
  WaveBand shape_;  ///< axes and position of the band
  std::vector<float> arrival_time_, maximum_height_, maximum_speed_;
};

}  // namespace tsunami
