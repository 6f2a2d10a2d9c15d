#pragma once
#include <cstdint>

#include "parallel_grid.hpp"

namespace tsunami {

/// The parameters of the model, except the depth.
struct Physics {
  double source_longitude = 142.9, source_latitude = 38.1;  ///< degrees; centre of the initial bump
  double source_height_m = 5;
  double source_radius_km = 100;  ///< e-folding radius of the Gaussian
  double minimum_depth_m = 20;    ///< shallower water is assumed to be this deep
  bool rotates = true;            ///< Coriolis force is included
};

/// Linear shallow-water waves on the rotating sphere: sea level at cell centres, velocities at the eastern
/// and northern faces (Arakawa C grid), forward-backward in time. The flux form conserves the volume of water
/// to rounding; coasts and closed edges are walls. The same operations in the same order compute every cell
/// in each decomposition, so results do not depend on the number of ranks. Source: Mesinger and Arakawa
/// (1976), GARP Publ. 17.
class ShallowWater {
 public:
  /// `depth` in metres on the block and its halo. Collective.
  ShallowWater(const ParallelGrid& grid, const Field& depth, const Physics& physics);

  /// Largest stable time step in seconds, with a margin. Collective.
  [[nodiscard]] double stable_step_s() const;
  /// Advances the model by one time step. Collective.
  void step(double dt_s);

  /// Volume of the sea-level anomaly in m³ (compensated sums). Collective; the same on all ranks.
  [[nodiscard]] double volume_m3() const;
  /// Sum of the anomaly's absolute volume in m³: the scale for volume_m3. Collective.
  [[nodiscard]] double absolute_volume_m3() const;

  [[nodiscard]] const ParallelGrid& grid() const noexcept { return grid_; }
  [[nodiscard]] bool is_wet(int row, int column) const { return depth_(row, column) > 0; }
  [[nodiscard]] double sea_level(int row, int column) const { return sea_level_(row, column); }
  /// Velocities in m/s at the cell's centre.
  [[nodiscard]] double eastward(int row, int column) const {
    return 0.5 * (eastward_(row, column - 1) + eastward_(row, column));
  }
  [[nodiscard]] double northward(int row, int column) const {
    return 0.5 * (northward_(row - 1, column) + northward_(row, column));
  }

 private:
  void set_face_depths();
  void set_source(const Physics& physics);
  void advance_eastward(double dt_s);
  void advance_northward(double dt_s);
  void advance_sea_level(double dt_s);
  [[nodiscard]] double coriolis(double latitude_degrees) const;

  const ParallelGrid& grid_;
  Field depth_, depth_east_, depth_north_;  ///< at centres and faces; 0 where closed
  Field sea_level_, eastward_, northward_;
  bool rotates_;
};

}  // namespace tsunami
