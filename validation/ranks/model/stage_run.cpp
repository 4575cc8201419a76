#include "ranks/model/stage_run.hpp"

#include <memory>
#include <numeric>

#include "trireme/model/offloaded_matmuls.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::validation {
namespace {

RandomKey make_key(const std::string& tensor) { return RandomKey{31}.then(tensor); }

// Returns a number in [-1, 1) for an element of the tensor with that key.
double scattered(RandomKey key, std::size_t element) {
    return 2 * to_unit_interval(random_block(key, element)[0]) - 1;
}

// Sets weights that vary enough for every term to matter.
void fill(const model::ParameterSpec& spec, device::Tensor part) {
    const double middle = spec.init == model::Init::ones ? 1 : 0;
    const RandomKey key = make_key(spec.name);
    visit_float(part.dtype, [&]<class T>(T) {
        const auto elements = part.as<T>();
        for (const auto& [box, row, column] : spec.placements) {
            for (std::size_t r = 0; r < box.rows.count; ++r) {
                for (std::size_t c = 0; c < box.columns.count; ++c) {
                    const std::size_t element = (box.rows.begin + r) * spec.all_columns + box.columns.begin + c;
                    elements(row + r, column + c) = static_cast<T>(middle + 0.4 * scattered(key, element));
                }
            }
        }
    });
}

// Returns the whole tensor, with the rank's part in its position and zeros elsewhere.
std::vector<double> in_place(const model::ParameterSpec& spec, device::ConstTensor part) {
    const std::vector<double> numbers = stage::numbers_of(part);
    std::vector<double> whole(spec.all_rows * spec.all_columns, 0.0);
    for (const auto& [box, row, column] : spec.placements) {
        for (std::size_t r = 0; r < box.rows.count; ++r) {
            for (std::size_t c = 0; c < box.columns.count; ++c) {
                whole[(box.rows.begin + r) * spec.all_columns + box.columns.begin + c] =
                    numbers[(row + r) * spec.columns + column + c];
            }
        }
    }
    return whole;
}

// A stage with its memory, and the rebalancing of its projections.
class Bench {
public:
    Bench(const StageTask& task, const model::TensorPart& part, const Sharing* sharing)
        : task_(task),
          spec_{.layers = task.layers, .part = part, .recompute = task.recompute},
          memory_(predict(
              task.config, spec_, task.rows.shape(),
              {.dtype = task.dtype,
               .cuts_rows = sharing != nullptr && sharing->cuts_rows,
               .halves = task.halves,
               .resizing_limit = sharing != nullptr && !sharing->lists.empty() ? 0.5 : 0,
               .migrations = sharing != nullptr ? sharing->migrations : std::vector<layout::Migration>{},
               .spread = sharing != nullptr ? sharing->spread : layout::Spread::tree})),
          stage_(task.config, spec_),
          parameters_(stage_.parameters(), task.dtype, device::MemorySpace::host),
          workspace_(memory_, device::MemorySpace::host),
          stash_(memory_.activations, device::MemorySpace::host),
          batch_(task.rows.batch()),
          neighbours_("neighbours", 4 * batch_.rows() * stage_.width() * sizeof(double) + 256,
                      device::MemorySpace::host),
          resizing_(stage_.projections(), model::Filling::zero, task.dtype, batch_.rows(),
                    device::MemorySpace::host),
          offloaded_(stage::list_team_projections(task.config, {spec_}), part.rank,
                     sharing != nullptr ? sharing->spread : layout::Spread::tree) {
        if (sharing != nullptr) {
            group_ = std::make_unique<model::TensorGroup>(model::TensorGroup{.communicator = sharing->ranks,
                                                                             .exchange = workspace_.exchange,
                                                                             .cuts_rows = sharing->cuts_rows});
            help(*sharing);
        }
        stage_.bind(parameters_);
        for (std::size_t i = 0; i < parameters_.specs().size(); ++i) {
            fill(parameters_.specs()[i], parameters_.values()[i]);
            mask(i);
        }
    }

    StageRun run(device::Stream& stream) {
        const model::Pass pass{.stream = stream,
                               .batch = batch_,
                               .scratch = workspace_.scratch,
                               .dtype = task_.dtype,
                               .is_training = task_.is_training,
                               .dropout_key = RandomKey{77},
                               .loss_scale = 0.5,
                               .label_smoothing = 0.1,
                               .group = group_.get()};
        StageRun result{
            .own = model::find_own_rows(pass), .output = {}, .grad_input = {}, .gradients = {}, .outcome = {}};
        const device::Tensor input = stage_.is_first() ? device::Tensor{} : make_rows("input", result.own);
        const device::Tensor output = stage_.forward(pass, input, stash_, workspace_);
        if (!stage_.is_last()) result.output = stage::numbers_of(output);
        if (task_.is_training) train(pass, result);
        if (stage_.is_last()) result.outcome = stage_.outcome(stash_);
        return result;
    }

private:
    // Begins a period with this rank's skipped channels and the team's migrations. Projections without a list
    // keep all channels.
    void help(const Sharing& sharing) {
        model::Resizing::ChannelLists kept = sharing.lists;
        for (const model::ProjectionShape& projection : stage_.projections()) {
            std::vector<std::int32_t>& list = kept[projection.id];
            if (!list.empty()) continue;
            list.resize(projection.channels);
            std::iota(list.begin(), list.end(), 0);
        }
        resizing_.begin_period(offloaded_.begin_period(sharing.migrations, kept));
        offloaded_.send_channel_lists(sharing.ranks);
        stage_.rebalance({.resizing = &resizing_, .offloaded_work = &offloaded_});
    }

    void train(const model::Pass& pass, StageRun& result) {
        const device::Tensor grad_output =
            stage_.is_last() ? device::Tensor{} : make_rows("grad_output", result.own);
        const device::Tensor grad_input =
            stage_.is_first() ? device::Tensor{} : make_rows("grad_input", result.own);
        if (task_.halves == stage::BackwardHalves::together) {
            stage_.backward(pass, grad_output, grad_input, stash_, workspace_);
        } else {
            stage_.backward_input(pass, grad_output, grad_input, stash_);
            stage_.backward_weight(pass, stash_);
        }
        if (!stage_.is_first()) result.grad_input = stage::numbers_of(grad_input);
        for (std::size_t i = 0; i < parameters_.specs().size(); ++i) {
            const model::ParameterSpec& spec = parameters_.specs()[i];
            std::vector<double>& numbers = result.gradients[spec.name];
            numbers = in_place(spec, parameters_.gradients()[i]);
            stage::apply_mask(task_.masks, spec.name, numbers);
        }
    }

    // Zeroes the masked elements of a parameter. Only run_on_one_rank() has masks; there parameters are whole.
    void mask(std::size_t parameter) {
        if (task_.masks.empty()) return;
        std::vector<double> numbers = stage::numbers_of(parameters_.values()[parameter]);
        stage::apply_mask(task_.masks, parameters_.specs()[parameter].name, numbers);
        stage::set_numbers(parameters_.values()[parameter], numbers);
    }

    // Returns the `own` rows of a (rows, width) tensor whose values are equal on all ranks.
    device::Tensor make_rows(const std::string& name, layout::Range own) {
        const device::Tensor tensor = neighbours_.tensor(task_.dtype, own.count, stage_.width());
        const RandomKey key = make_key(name);
        std::vector<double> numbers;
        for (std::size_t e = own.begin * stage_.width(); e < own.end() * stage_.width(); ++e) {
            numbers.push_back(scattered(key, e));
        }
        stage::set_numbers(tensor, numbers);
        return tensor;
    }

    StageTask task_;
    stage::StageSpec spec_;
    stage::StageMemory memory_;
    stage::Stage stage_;
    stage::LocalParameters parameters_;
    stage::Workspace workspace_;
    stage::ActivationStash stash_;
    model::TokenBatch batch_;
    device::Arena neighbours_;
    std::unique_ptr<model::TensorGroup> group_;
    model::Resizing resizing_;
    model::OffloadedMatmuls offloaded_;
};

}  // namespace

StageRun run_on_one_rank(device::Stream& stream, const StageTask& task) {
    StageTask plain = task;
    plain.recompute = plan::Recompute::none;
    plain.halves = stage::BackwardHalves::together;
    return Bench(plain, {}, nullptr).run(stream);
}

StageRun run_in_team(device::Stream& stream, const StageTask& task, const Sharing& sharing) {
    const model::TensorPart part{.rank = sharing.ranks.rank(), .shares = sharing.shares};
    StageTask own = task;
    own.masks.clear();
    return Bench(own, part, &sharing).run(stream);
}

}  // namespace trireme::validation
