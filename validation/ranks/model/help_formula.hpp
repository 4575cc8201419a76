// The traffic of helper ranks, by formula. A helper computes m input channels of a slow rank's projection,
// whose w matrices have n outputs together. With t rows it costs the following messages and numbers:
//                             forward                   backward, input    backward, weight
//   input equal on all ranks  w, m n: W    1, t n: P    1, t n: dY         w, m n: dW
//   input of the owner alone  w, m n: W    1, t m: X    1, t m: dX         w, m n: dW
// P are the terms of Y. All other terms join the all-reduces that exist without help, and cost nothing: dX if
// all ranks read the same input, and Y if each reads its own (FlexTP's reduce merging).
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "comm/mpi/mpi_communicator.hpp"
#include "model/rebalance/rebalanced_projection.hpp"
#include "ranks/model/counting_group.hpp"

namespace trireme::validation {

using Migrations = std::vector<layout::Migration>;

// The traffic of the three calls of a projection.
struct Phases {
    Sent forward, backward_input, backward_weight;

    Phases& operator+=(const Phases& other);
    Sent sum() const;
};

// Returns the number of channels of the projection that each helper of `owner` computes.
std::vector<std::size_t> offloaded_by(const Migrations& migrations, int owner,
                                      const model::ProjectionShape& projection);

// Returns the traffic of all ranks together for an f64 projection of an owner. `offloaded` has the number of
// channels per helper.
Phases expected_traffic(model::InputSharding input_sharding, const model::ProjectionShape& owners,
                        const std::vector<std::size_t>& offloaded, std::size_t rows);

// Returns rank `rank`'s part of a projection. With InputSharding::replicated it is the first one of a branch,
// with one matrix, or two for llama. With InputSharding::sharded it is the last one. Higher ranks have larger
// parts.
model::Projection make_projection(model::Family family, model::InputSharding input_sharding, int rank,
                                  int ranks);

class HelperTraffic : public testing::Test {
protected:
    int ranks() const { return world_.size(); }
    int rank() const { return world_.rank(); }

    // Rank 1 is helped by all other ranks, with fractions that increase with the rank.
    Migrations one_owner() const;
    // Returns one_owner() and, with more than two ranks, migrations in which rank 1 and the last rank are
    // helped by all others.
    std::vector<Migrations> every_migrations() const;

    // Collective over all ranks. Returns the sum of `own` over them.
    Sent of_all_ranks(const Sent& own);

    comm::MpiCommunicator world_{MPI_COMM_WORLD, "tensor", {.stall_seconds = 20}};
};

}  // namespace trireme::validation
