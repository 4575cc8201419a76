// A rank's stages with the engine that drives them: a part of the model that all ranks are together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "train/batch_view.hpp"
#include "train/rank_groups.hpp"
#include "train/rank_memory.hpp"
#include "trireme/checkpoint/checkpoint_writer.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/pipeline/engine.hpp"

namespace trireme {

Stream make_stream(DeviceKind device, int threads);

// What a program is executed with, beside its micro-batches.
struct RoundOptions {
    RandomKey dropout_key = {};
    double loss_scale = 1;
    double label_smoothing = 0;
    std::function<void()> update = {};  // of a training program, at its first STEP
};

// What came of a program on this rank.
struct RoundResult {
    std::map<int, LossState>
        outcomes;                   // of the micro-batches whose last stage is here, on one rank of its team
    std::size_t padded_tokens = 0;  // that entered the model here; likewise counted by one rank
};

class RankModel {
public:
    // `setup` and `gradients` outlive it.
    RankModel(const Setup& setup, const GradientPlan& gradients, int rank, RankGroups groups);

    bool is_idle() const { return !stages_; }
    int rank() const { return rank_; }
    const RankGroups& groups() const { return groups_; }
    LocalStages& stages() { return *stages_; }

    // First values, the same for every layout: random, or the stored model's. Communicates nothing.
    void fill(Stream& stream, std::uint64_t seed);

    // Point-to-point with neighbours, and collective over the team. Executes this rank's part of `programs` on
    // the micro-batches, of which those that it has nothing to do with are not looked at. Of a rank that is
    // idle: nothing.
    RoundResult execute(Stream& stream, const ProvedPrograms& programs, const std::vector<Batch>& batches,
                        const RoundOptions& options);
    // Whether this rank executes some stage of a micro-batch.
    bool needs(const PipelineShape& shape, int micro_batch) const;

    // Collective over `control`. Rank 0 gets every tensor from those that hold it, one after the other, and
    // writes it.
    void save(CheckpointWriter* writer, Communicator& control) const;

    // The losses of the round's micro-batches that have ended here; counted by one rank of a team.
    double own_loss() const;

    std::string position() const;  // "stands at 2RECV_B0, instruction 7 of 20"

    double wait_seconds() const;  // since the last call of reset_traffic()
    void reset_traffic();

private:
    bool speaks_for_team() const;
    std::unique_ptr<Engine> make_engine(const ProvedPrograms& programs) const;

    const Setup& setup_;
    const GradientPlan& gradients_;
    int rank_;
    RankGroups groups_;
    std::unique_ptr<LocalStages> stages_;            // none: idle
    std::unique_ptr<Engine> training_, evaluation_;  // of the programs of each
};

}  // namespace trireme
