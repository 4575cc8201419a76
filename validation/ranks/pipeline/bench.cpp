#include "ranks/pipeline/bench.hpp"

#include <mpi.h>

#include <algorithm>
#include <numeric>

#include "comm/mpi/mpi_communicator.hpp"

namespace trireme::pipeline {
namespace {

std::vector<int> last_ranks(int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), world_size() - count);
    return ranks;
}

std::vector<layout::Team> moved(std::vector<layout::Team> teams, int first) {
    for (layout::Team& team : teams) {
        for (int& rank : team.ranks) rank += first;
    }
    return teams;
}

std::unique_ptr<comm::Communicator> group(const std::vector<int>& ranks, const char* name,
                                          device::WaitPolicy wait_policy) {
    if (ranks.size() == 1) return comm::make_single_rank_group(name);
    return std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, ranks, name, wait_policy);
}

}  // namespace

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int world_size() {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

Bench::Bench(const Trial& trial, device::WaitPolicy wait_policy)
    : trial_(trial),
      ranks_(last_ranks(trial.ranks())),
      teams_(moved(trial.teams, ranks_.front())),
      activations_(group(ranks_, "activations", wait_policy)),
      gradients_(group(ranks_, "gradients", wait_policy)) {}

Engine Bench::engine(const schedule::PipelineShape& shape) const {
    return Engine({.rank = world_rank(),
                   .teams = teams_,
                   .shape = shape,
                   .is_sequence_parallel = trial_.are_rows_cut,
                   .activations = *activations_,
                   .gradients = *gradients_,
                   .group_ranks = ranks_,
                   .max_steps_in_flight = shape.steps});
}

CountingWorker Bench::worker(const schedule::PipelineShape& shape, bool rollbacks) const {
    const std::vector<int>& own = teams_[static_cast<std::size_t>(team())].ranks;
    const auto place = std::find(own.begin(), own.end(), world_rank()) - own.begin();
    return CountingWorker({.shape = shape,
                           .team = team(),
                           .rows = trial_.rows,
                           .parts = trial_.are_rows_cut ? own.size() : 1,
                           .part = trial_.are_rows_cut ? static_cast<std::size_t>(place) : 0,
                           .width = trial_.width,
                           .rollbacks = rollbacks});
}

}  // namespace trireme::pipeline
