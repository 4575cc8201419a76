// A rank's engine on a bench: groups of MPI and a counting worker.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/pipeline/counting_worker.hpp"
#include "ranks/pipeline/trials.hpp"
#include "trireme/pipeline/engine.hpp"

namespace trireme {

inline int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

inline int world_size() {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

// The last ranks of the job, so that numbers in a group are not those in the job. Only these make one.
class Bench {
public:
    explicit Bench(const Trial& trial)
        : trial_(trial), teams_(trial.teams), ranks_(static_cast<std::size_t>(trial.ranks())) {
        const int first = world_size() - trial.ranks();
        std::iota(ranks_.begin(), ranks_.end(), first);
        for (Team& team : teams_) {
            for (int& rank : team.ranks) rank += first;
        }
    }

    // Whether this rank takes part in a trial.
    static bool is_needed(const Trial& trial) { return world_rank() >= world_size() - trial.ranks(); }

    int rank() const { return world_rank(); }
    int team() const { return team_of_rank(teams_, world_rank()); }

    Engine engine(const PipelineShape& shape) {
        return Engine({.rank = world_rank(),
                       .teams = teams_,
                       .shape = shape,
                       .are_rows_cut = trial_.are_rows_cut,
                       .activations = *activations_,
                       .gradients = *gradients_,
                       .ranks = ranks_});
    }

    CountingWorker worker(const PipelineShape& shape) const {
        const std::vector<int>& own = teams_[static_cast<std::size_t>(team())].ranks;
        const auto place = std::find(own.begin(), own.end(), world_rank()) - own.begin();
        return CountingWorker({.shape = shape,
                               .team = team(),
                               .rows = trial_.rows,
                               .parts = trial_.are_rows_cut ? own.size() : 1,
                               .part = trial_.are_rows_cut ? static_cast<std::size_t>(place) : 0,
                               .width = trial_.width});
    }

private:
    std::unique_ptr<Communicator> group(const char* name) const {
        if (ranks_.size() == 1) return single_rank(name);
        return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, ranks_, name, Patience{20});
    }

    const Trial& trial_;
    std::vector<Team> teams_;  // of the job's ranks
    std::vector<int> ranks_;
    std::unique_ptr<Communicator> activations_ = group("activations");
    std::unique_ptr<Communicator> gradients_ = group("gradients");
};

}  // namespace trireme
