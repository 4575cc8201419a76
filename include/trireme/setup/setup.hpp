// Everything that is known before the first step: checked, counted and opened.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/config/config.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/setup/earlier_steps.hpp"
#include "trireme/setup/profiled_kernels.hpp"
#include "trireme/setup/simulated_device.hpp"
#include "trireme/setup/slow_ranks.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme {

class RankGpu;

// How a run came to the plan that it is in.
struct PlanOrigin {
    std::string hash;                       // of the plan of the options
    Layout layout = {};                     // of that plan, in which nobody is slow
    std::optional<Decision> decision = {};  // that led to the plan; none: it is that of the options
    // Of a run that goes on in the plan of its checkpoint, else empty: how slow ranks were, and for how long
    // so.
    std::vector<double> slowness = {};
    std::size_t steady_steps = 0;
    std::string words = {};  // of a run that goes on: which plan it begins in, and why; empty: nothing to say
};

struct Setup {
    ModelConfig model;
    std::optional<StoredModel> stored;   // where the parameters come from; none: random numbers
    std::optional<Corpus> corpus;        // none: of ghosts, whose samples are made up
    std::optional<Tokenizer> tokenizer;  // of the corpus, unless it holds images
    SampleIndex samples;
    BatchRules train_rules, validation_rules;
    LengthPolicy length = LengthPolicy::pad;
    DType dtype = DType::f32;
    Place place = Place::memory;  // of tensors
    std::size_t steps = 0;
    bool resumes = false;  // `stored` is a checkpoint of this run
    std::optional<std::size_t> kept_steps =
        {};                         // whose records in the run directory stay; none: it is a new one
    std::size_t first_step = 0;     // steps behind it
    EarlierSteps earlier = {};      // of all starts of the run until now
    std::string rate_change = {};   // how a resumed run changes its learning rates; empty if it does not
    bool goes_on_resizing = false;  // it says what ranks remember of what they leave out, as they still do
    Plan plan;
    PlanOrigin origin = {};
    std::size_t micro_batch_samples = 1;           // of the largest micro-batch
    std::vector<BatchShape> largest = {};          // micro-batches that a step and an evaluation may hold
    std::optional<SimulatedDevices> devices = {};  // whose time kernels take; none: their own
    RankKernels kernels = {};                      // whose time they take on these; none: by their rates
    std::shared_ptr<RankGpu> gpu = {};             // this rank's, shared by copies; none: it uses none
    SlowRun slow = {};                             // on purpose; nothing that decides may read it
};

DType dtype_of(Precision precision);
Place place_of(DeviceKind device);  // of tensors

// Tokens of the longest sample: --max-length, or the model's positions. Throws ConfigError for more than these,
// and for more samples a step than anyone has.
std::size_t longest_sample(const RunConfig& config, const ModelConfig& model);
void check_batch_size(const RunConfig& config);

// Samples of the largest micro-batch of a plan.
std::size_t samples_of_micro_batch(const RunConfig& config, const Plan& plan);

// Micro-batches of so many samples, of training and of evaluation, with the most rows.
std::vector<BatchShape> largest_micro_batches(const Setup& setup, std::size_t samples);

// Throws ConfigError where a step has more micro-batches than samples.
void check_batch_is_enough(const RunConfig& config, const Plan& plan);

// Throws ConfigError for whatever of the configuration cannot be used with `ranks` ranks. Communicates nothing.
Setup set_up(const RunConfig& config, int ranks);
// Likewise, for what --slow names: who is slow in that run, and when.
SlowRun slow_run_of(const RunConfig& config, const Setup& setup, int ranks);
Setup set_up_evaluation(const EvaluateConfig& config, int ranks);  // without a sample to train on

// Collective over `control`. Throws ConfigError on every rank if the ranks have opened different corpora,
// resume from different steps, or have made different plans. Does nothing in a simulation, whose ranks share
// one process and its files.
void require_same_setup(Communicator& control, const Setup& setup);

}  // namespace trireme
