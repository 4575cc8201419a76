// The kernels and messages of a stage for some shapes of micro-batches, the probes.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "setup/costs/linear_fit.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/stage_work.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::setup {

class ProbedStage {
public:
    // Runs the passes of the probes with ghost tensors. Throws ConfigError if the tiles of the head are too
    // small to predict its time. `variant.halves` is ignored.
    ProbedStage(const model::ModelConfig& model, const stage::StageSpec& spec,
                const stage::PassVariant& variant);

    // Returns the work of the stage. The costs of all kernels are linear in the counts of a shape, until the
    // counts reach a limit. The limits are the rows of each embedding table and the rows of a tile of logits.
    plan::StageWork make_work() const;

    // Adds `count` times what `more` has in addition to `fewer`. Returns false, without a change, if the three
    // stages do not call the same kernels in the same order of their first calls.
    bool add_difference(const ProbedStage& more, const ProbedStage& fewer, std::size_t count);

private:
    // The work for shapes up to a limit of rows. Messages are kept per probe, as integers, because sums of
    // fitted messages would have rounding errors.
    struct Formulas {
        LinearFit fit;
        plan::TrainingFormulas kernels;             // without messages
        std::vector<stage::TrainingWork> messages;  // per probe; without kernels

        // Sets all but `fit` from the work of the probes, whose kernels it removes. `tiles` has the work of the
        // probes of make_tile_probes(); empty if there are no tiles of logits.
        void fit_work(std::span<const stage::TrainingWork> tiles, std::span<stage::TrainingWork> probes);
    };

    void find_limits(const model::ModelConfig& model, const stage::StageSpec& spec, device::DType dtype);
    bool calls_same_kernels(const ProbedStage& other) const;

    std::vector<std::size_t> row_limits_;    // ascending; the last one is unlimited
    std::size_t max_tile_rows_ = unlimited;  // rows of a tile of logits
    std::vector<Formulas> formulas_;         // one per row limit

    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
};

}  // namespace trireme::setup
