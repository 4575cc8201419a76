// What ranks that help each other send, by formula. A helper of m input channels of a slow rank's projection,
// of w matrices with n outputs together, costs with t rows, in messages and numbers:
//                     forward                   backward, input    backward, weight
//   reads what all    w, m n: W    1, t n: P    1, t n: dY         w, m n: dW
//   reads its own     w, m n: W    1, t m: X    1, t m: dX         w, m n: dW
// P are the terms of Y. All else joins the sums over all ranks that there are without help, and costs nothing:
// dX where all read the same, and Y where each reads its own (FlexTP's reduce merging).
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "comm/mpi/mpi_communicator.hpp"
#include "model/rebalance/rebalanced_projection.hpp"
#include "ranks/model/counting_group.hpp"

namespace trireme::validation {

using Migrations = std::vector<layout::Migration>;

// Of the three calls of a projection.
struct Phases {
    Sent forward, backward_input, backward_weight;

    Phases& operator+=(const Phases& other);
    Sent sum() const;
};

// What each of an owner's helpers computes of its projection.
std::vector<std::size_t> lent_by(const Migrations& migrations, int owner,
                                 const model::ProjectionShape& projection);

// By all ranks, of f64.
Phases expected_of(model::Reads reads, const model::ProjectionShape& owners,
                   const std::vector<std::size_t>& lent, std::size_t rows);

// A first projection of a branch, of one matrix or, of a llama, of two; or a last one. The higher ranks have
// the larger parts of it.
model::Projection projection_of(model::Family family, model::Reads reads, int rank, int ranks);

class HelpTraffic : public testing::Test {
protected:
    int ranks() const { return world_.size(); }
    int rank() const { return world_.rank(); }

    // Rank 1 is helped by all the others, the more the later they come; and, of more than two ranks, rank 1 and
    // the last one by those between them.
    Migrations one_owner() const;
    std::vector<Migrations> every_help() const;

    Sent of_all_ranks(const Sent& own);

    comm::MpiCommunicator world_{MPI_COMM_WORLD, "tensor", {.stall_seconds = 20}};
};

}  // namespace trireme::validation
