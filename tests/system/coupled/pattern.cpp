#include "pattern.hpp"

#include <pnetcdf.h>

#include <algorithm>
#include <numeric>

namespace patterns {

namespace {

constexpr std::int64_t largest_extent = 12;

std::int64_t product(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<Variable> make_variables(Random& random, const Dataset& dataset, int phases) {
  std::vector<Variable> variables(static_cast<std::size_t>(draw(random, 2, 6)));
  int number = 0;
  for (Variable& variable : variables) {
    variable.name = "v" + std::to_string(number++);
    variable.type = static_cast<int>(draw(random, NC_BYTE, dataset.format == 5 ? NC_UINT64 : NC_DOUBLE));
    variable.is_record = draw(random, 0, 2) == 0;
    variable.has_fill_attribute = variable.type != NC_CHAR && draw(random, 0, 1) == 0;
    if (number > 1 && draw(random, 0, 3) == 0)
      variable.first_phase = static_cast<int>(draw(random, 0, phases - 1));
    const auto rank = draw(random, variable.is_record ? 1 : 0, 3);
    for (std::int64_t d = 0; d < rank; ++d) {
      const bool is_record_dimension = d == 0 && variable.is_record;
      const auto last = static_cast<std::int64_t>(dataset.dimensions.size()) - 1;
      variable.dimids.push_back(is_record_dimension ? 0 : static_cast<int>(draw(random, 1, last)));
      variable.shape.push_back(dataset.dimensions[static_cast<std::size_t>(variable.dimids.back())]);
    }
  }
  return variables;
}

/// A random selection within [low, high) in each dimension. The count may be 0.
Slab make_slab(Random& random, const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high,
               bool strided) {
  Slab slab;
  for (std::size_t d = 0; d < low.size(); ++d) {
    const std::int64_t extent = high[d] - low[d];
    if (extent == 0) {
      slab.start.push_back(0);
      slab.count.push_back(0);
      if (strided) slab.stride.push_back(1);
      continue;
    }
    const std::int64_t start = low[d] + draw(random, 0, extent - 1);
    const std::int64_t stride = strided ? draw(random, 1, 4) : 1;
    const std::int64_t most = (high[d] - start + stride - 1) / stride;
    slab.start.push_back(start);
    slab.count.push_back(draw(random, 0, 9) == 0 ? 0 : draw(random, 1, most));
    if (strided) slab.stride.push_back(stride);
  }
  return slab;
}

int make_memory_type(Random& random, int external) {
  if (external == NC_CHAR) return NC_CHAR;
  int type = NC_CHAR;
  while (type == NC_CHAR) type = static_cast<int>(draw(random, NC_BYTE, NC_UINT64));
  return draw(random, 0, 1) == 0 ? external : type;
}

/// The distances of neighbours when the dimensions are in a random order in memory.
std::vector<std::int64_t> make_imap(Random& random, const std::vector<std::int64_t>& count) {
  std::vector<std::size_t> order(count.size());
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::int64_t> imap(count.size());
  std::int64_t distance = 1;
  for (const std::size_t d : order) {
    imap[d] = distance;
    distance *= std::max<std::int64_t>(count[d], 1);
  }
  return imap;
}

Operation make_operation(Random& random, const Dataset& dataset, int number,
                         const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high) {
  const Variable& variable = dataset.variables[static_cast<std::size_t>(number)];
  Operation operation;
  operation.variable = number;
  operation.memory_type = make_memory_type(random, variable.type);
  operation.shape = static_cast<Shape>(draw(random, 0, 3));
  operation.is_nonblocking = draw(random, 0, 2) == 0;
  const bool strided = operation.shape == Shape::vars || operation.shape == Shape::varm;
  const std::int64_t slabs =
      operation.shape == Shape::varn && dataset.has_overlaps && !low.empty() ? draw(random, 1, 5) : 1;
  for (std::int64_t i = 0; i < slabs; ++i) operation.slabs.push_back(make_slab(random, low, high, strided));
  // In PnetCDF an empty put of a single slab makes the records that it names. This program avoids it.
  Slab& first = operation.slabs[0];
  if (variable.is_record && operation.shape != Shape::varn && first.elements() == 0) {
    first.start.assign(first.start.size(), 0);
    first.count.assign(first.count.size(), 0);
  }
  if (operation.shape == Shape::varm) operation.imap = make_imap(random, operation.slabs[0].count);
  return operation;
}

/// Cuts the variable along one dimension, into a block for each rank.
struct Partition {
  std::size_t dimension = 0;
  std::vector<std::int64_t> cuts;
  std::vector<std::size_t> block_of_rank;
};

Partition make_partition(Random& random, const Variable& variable, int writers) {
  Partition partition;
  const auto ranks = static_cast<std::size_t>(writers);
  partition.block_of_rank.resize(ranks);
  std::iota(partition.block_of_rank.begin(), partition.block_of_rank.end(), 0U);
  std::shuffle(partition.block_of_rank.begin(), partition.block_of_rank.end(), random);
  if (variable.shape.empty()) return partition;
  partition.dimension =
      static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(variable.shape.size()) - 1));
  const std::int64_t extent = variable.shape[partition.dimension];
  partition.cuts = {0, extent};
  for (std::size_t i = 1; i < ranks; ++i) partition.cuts.push_back(draw(random, 0, extent));
  std::sort(partition.cuts.begin(), partition.cuts.end());
  return partition;
}

Operation make_put(Random& random, const Dataset& dataset, int number, const Partition& partition,
                   std::size_t rank) {
  const Variable& variable = dataset.variables[static_cast<std::size_t>(number)];
  std::vector<std::int64_t> low(variable.shape.size(), 0), high = variable.shape;
  const std::size_t block = partition.block_of_rank[rank];
  if (!variable.shape.empty()) {
    low[partition.dimension] = partition.cuts[block];
    high[partition.dimension] = partition.cuts[block + 1];
  }
  Operation put = make_operation(random, dataset, number, low, high);
  // A scalar has one writer.
  if (variable.shape.empty() && block != 0) put.slabs.clear();
  return put;
}

/// In a collective phase all ranks put the same variables in the same order. Puts of one rank may overlap;
/// the last one wins.
Phase make_phase(Random& random, const Dataset& dataset, int number, int writers, std::int64_t& serial) {
  Phase phase;
  phase.is_collective = draw(random, 0, 2) != 0;
  phase.reopens = number > 0 && draw(random, 0, 2) == 0;
  phase.puts.resize(static_cast<std::size_t>(writers));
  std::vector<Partition> partitions;
  for (const Variable& variable : dataset.variables)
    partitions.push_back(make_partition(random, variable, writers));
  const std::int64_t rounds = draw(random, 1, 12);
  for (std::int64_t round = 0; round < rounds; ++round) {
    const auto variable =
        static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(dataset.variables.size()) - 1));
    const bool is_nonblocking = draw(random, 0, 2) == 0 && dataset.has_overlaps;
    if (dataset.variables[variable].first_phase > number) continue;
    for (std::size_t rank = 0; rank < phase.puts.size(); ++rank) {
      auto put = make_put(random, dataset, static_cast<int>(variable), partitions[variable], rank);
      put.is_nonblocking = is_nonblocking;
      put.serial = ++serial;
      phase.puts[rank].push_back(std::move(put));
    }
  }
  return phase;
}

}  // namespace

std::int64_t Variable::elements() const {
  return product(shape);
}
std::int64_t Slab::elements() const {
  return product(count);
}
std::int64_t Operation::elements() const {
  std::int64_t sum = 0;
  for (const Slab& slab : slabs) sum += slab.elements();
  return sum;
}

Dataset make_dataset(std::uint64_t seed, int writers, bool has_overlaps) {
  Random random(seed * 7919 + static_cast<std::uint64_t>(writers));
  Dataset dataset;
  dataset.has_overlaps = has_overlaps;
  const int formats[] = {1, 2, 5};
  dataset.format = formats[draw(random, 0, 2)];
  dataset.dimensions.push_back(draw(random, 1, 6));
  const std::int64_t dimensions = draw(random, 1, 4);
  for (std::int64_t d = 0; d < dimensions; ++d) dataset.dimensions.push_back(draw(random, 1, largest_extent));
  const int phases = static_cast<int>(draw(random, 1, 4));
  dataset.variables = make_variables(random, dataset, phases);
  std::int64_t serial = 0;
  for (int phase = 0; phase < phases; ++phase) {
    dataset.phases.push_back(make_phase(random, dataset, phase, writers, serial));
  }
  return dataset;
}

Reference::Reference(const Dataset& dataset) : dataset_(dataset) {
  for (const Variable& variable : dataset.variables) {
    values_.emplace_back(static_cast<std::size_t>(variable.elements()), unwritten);
  }
}

void Reference::apply(const Phase& phase) {
  for (const auto& puts : phase.puts) {
    for (const Operation& put : puts) {
      const auto variable = static_cast<std::size_t>(put.variable);
      const auto elements = elements_of(dataset_.variables[variable], put);
      for (const std::int64_t element : elements) {
        values_[variable][static_cast<std::size_t>(element)] = value_of(put.serial, put.variable, element);
      }
      if (!dataset_.variables[variable].is_record) continue;
      for (const Slab& slab : put.slabs) {
        if (slab.elements() == 0) continue;
        const std::int64_t stride = slab.stride.empty() ? 1 : slab.stride[0];
        record_count_ = std::max(record_count_, slab.start[0] + (slab.count[0] - 1) * stride + 1);
      }
    }
  }
}

int value_of(std::int64_t serial, int variable, std::int64_t element) {
  return static_cast<int>((serial * 37 + variable * 11 + element * 7) % 100);
}

std::vector<std::int64_t> elements_of(const Variable& variable, const Operation& operation) {
  std::vector<std::int64_t> elements;
  for (const Slab& slab : operation.slabs) {
    const std::int64_t n = slab.elements();
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t rest = i, element = 0, distance = 1;
      for (std::size_t d = slab.start.size(); d-- > 0;) {
        const std::int64_t stride = slab.stride.empty() ? 1 : slab.stride[d];
        element += (slab.start[d] + rest % slab.count[d] * stride) * distance;
        rest /= slab.count[d];
        distance *= variable.shape[d];
      }
      elements.push_back(element);
    }
  }
  return elements;
}

std::vector<std::int64_t> memory_positions(const Operation& operation) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(operation.elements()));
  std::iota(positions.begin(), positions.end(), 0);
  if (operation.imap.empty()) return positions;
  const auto& count = operation.slabs[0].count;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    positions[i] = 0;
    for (std::size_t d = count.size(); d-- > 0;) {
      positions[i] += rest % count[d] * operation.imap[d];
      rest /= count[d];
    }
  }
  return positions;
}

Operation make_get(Random& random, const Dataset& dataset, int variable, std::int64_t records) {
  const Variable& facts = dataset.variables[static_cast<std::size_t>(variable)];
  std::vector<std::int64_t> low(facts.shape.size(), 0), high = facts.shape;
  if (facts.is_record) high[0] = records;
  return make_operation(random, dataset, variable, low, high);
}

}  // namespace patterns
