#include "trireme/model/head.hpp"

#include <algorithm>

#include "trireme/comm/collectives.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/logit_statistics.hpp"
#include "trireme/kernels/read.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/layout/shares.hpp"
#include "trireme/model/family.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {
namespace {

// Memory of a tile of logits: enough rows for an efficient matmul with GPT-2's vocabulary, but small compared
// to the activations. GPUs use bf16 and need larger tiles: each tile updates the whole weight gradient.
std::size_t tile_bytes(device::DType dtype) {
    return std::size_t{dtype == device::DType::bf16 ? 512U : 64U} << 20;
}

// Returns the stride between rows of logits. Tensor cores load 16 bytes at once, ideally 128. Rows of a
// vocabulary of 50,257 are not aligned to that without padding.
std::size_t logit_stride(device::DType dtype, std::size_t outputs) {
    const std::size_t whole = dtype == device::DType::bf16 ? 64 : 1;
    return (outputs + whole - 1) / whole * whole;
}

ParameterSpec weight_of(const ModelConfig& config) {
    const FamilyTraits& traits = traits_of(config.family);
    if (!config.has_vocabulary_head()) {
        ParameterSpec spec =
            matrix_spec("classifier.weight", config.labels, config.width, config.init_deviation);
        spec.is_of_head = true;
        return spec;
    }
    ParameterSpec spec = matrix_spec(std::string(config.tied ? traits.token_table : traits.vocabulary_head),
                                     config.vocabulary, config.width, config.init_deviation);
    spec.is_of_head = !config.tied;
    return spec;
}

std::optional<ParameterSpec> bias_of(const ModelConfig& config) {
    if (config.task == Task::language) return std::nullopt;
    ParameterSpec spec = vector_spec("classifier.bias", config.labels, Init::zeros);
    if (config.task == Task::masked) {
        // The files of an untied model have both biases; the decoder's is the one in use.
        const char* const name = config.tied ? "cls.predictions.bias" : "cls.predictions.decoder.bias";
        spec = vector_spec(name, config.vocabulary, Init::zeros);
    }
    spec.is_of_head = true;
    return spec;
}

// Returns the largest number of outputs of a tensor rank. All tensor ranks size their tiles by it, because they
// must cut the rows equally whatever their shares are.
std::size_t most_outputs_of(const ModelConfig& config, TensorPart part) {
    std::size_t most = 0;
    for (part.rank = 0; part.rank < static_cast<int>(part.shares.size()); ++part.rank) {
        most = std::max(most, part.vocabulary(config).count);
    }
    return most;
}

}  // namespace

// Absent tensors are not computed. A rank without own rows sets `makes_grad_input` too: it contributes to the
// gradients of other ranks' rows.
struct Head::Wanted {
    device::Tensor grad_input = {};   // (own rows, width)
    device::Tensor grad_weight = {};  // (own outputs, width)
    device::Tensor grad_bias = {};    // (own outputs)
    bool makes_grad_input = false;
    bool counts_loss = true;
    bool gives_choices = false;

    bool has_gradients() const { return makes_grad_input || grad_weight.is_present(); }
};

struct Head::Tile {
    device::ConstTensor rows;     // (count) i32: their indices among all rows; absent if all are predicted
    std::size_t begin;            // index of the first one among the predicted rows
    device::ConstTensor targets;  // (count) i32
    device::Tensor hidden;        // (count, width): space to gather the rows
    device::Tensor logits;        // (count, own outputs)
    device::Tensor statistics;    // (ranks * count, logit_field::count): space, if outputs are shared
    device::Tensor log_sums;      // (1, count): space, if outputs are shared
    device::Tensor losses;        // (count)
    device::Tensor choices;       // (count) i32
};

Head::Head(const ModelConfig& config, const TensorPart& part)
    : weight_(weight_of(config)),
      bias_(bias_of(config)),
      width_(config.width),
      all_outputs_(weight_.rows),
      outputs_(config.has_vocabulary_head() ? part.vocabulary(config) : layout::Range{0, all_outputs_}),
      most_outputs_(config.has_vocabulary_head() ? most_outputs_of(config, part) : all_outputs_),
      smooths_(config.task == Task::classify),
      is_shared_(config.has_vocabulary_head() && !part.is_whole()),
      is_first_(part.is_first()) {
    const Channels own{.width = all_outputs_, .own = {outputs_}};
    weight_ = part_of(weight_, own, all_channels(width_));
    if (bias_) bias_ = part_of(*bias_, all_channels(1), own);
}

std::vector<ParameterSpec> Head::parameters() const {
    std::vector<ParameterSpec> specs{weight_};
    if (bias_) specs.push_back(*bias_);
    return specs;
}

std::size_t Head::most_tile_rows(device::DType dtype) const {
    return std::max<std::size_t>(1, tile_bytes(dtype) / (std::max(most_outputs_, width_) * bytes_of(dtype)));
}

std::size_t Head::tile_rows(device::DType dtype, std::size_t rows) const {
    const std::size_t most = most_tile_rows(dtype);
    const std::size_t tiles = std::max<std::size_t>(1, (rows + most - 1) / most);
    return (rows + tiles - 1) / tiles;
}

device::Tensor Head::forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                             device::Arena& kept) const {
    state.loss = 0;
    if (!pass.is_training) for_each_tile(pass, weights, input, {.gives_choices = true}, state, kept);
    return {};
}

void Head::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                          device::ConstTensor /*grad_output*/, device::Tensor grad_input, State& state,
                          device::Arena& kept) const {
    for_each_tile(pass, weights, input, {.grad_input = grad_input, .makes_grad_input = true}, state, kept);
}

void Head::backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                           device::ConstTensor /*grad_output*/, State& state, Gradients gradients,
                           device::Arena& scratch) const {
    for_each_tile(pass, weights, input,
                  {.grad_weight = gradients[0],
                   .grad_bias = bias_ ? gradients[1] : device::Tensor{},
                   .counts_loss = false},
                  state, scratch);
}

void Head::backward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor grad_input,
                    State& state, Gradients gradients, device::Arena& scratch) const {
    for_each_tile(pass, weights, input,
                  {.grad_input = grad_input,
                   .grad_weight = gradients[0],
                   .grad_bias = bias_ ? gradients[1] : device::Tensor{},
                   .makes_grad_input = true},
                  state, scratch);
}

void Head::for_each_tile(const Pass& pass, Weights weights, device::ConstTensor own_input, const Wanted& asked,
                         State& state, device::Arena& scratch) const {
    const device::ArenaScope scope(scratch);
    const device::ConstTensor input = whole_rows(pass, own_input, scratch);
    Wanted wanted = asked;
    const bool is_cut = own_input.rows < input.rows;
    if (asked.makes_grad_input && is_cut) wanted.grad_input = scratch.tensor(pass.dtype, input.rows, width_);
    const device::ConstTensor predicted = pass.batch.predicted;
    const std::size_t most = tile_rows(pass.dtype, predicted.columns);
    // Rows of the largest tile of this or any smaller micro-batch, with any number of predictions. So the
    // memory of the largest micro-batch suffices for all.
    const std::size_t space = std::min(most_tile_rows(pass.dtype), input.rows);
    const device::Tensor hidden = scratch.tensor(pass.dtype, space, width_);
    const device::Tensor logits = scratch.tensor(pass.dtype, space, logit_stride(pass.dtype, outputs_.count))
                                      .column_range(0, outputs_.count);
    const std::size_t sharers = is_shared_ ? static_cast<std::size_t>(pass.group->ranks.size()) : 0;
    const device::Tensor statistics =
        scratch.tensor(device::DType::f64, sharers * space, kernels::logit_field::count);
    const device::Tensor log_sums = scratch.tensor(device::DType::f64, 1, space);
    const device::Tensor losses =
        scratch.tensor(device::DType::f64, 1, input.rows).column_range(0, predicted.columns);
    const device::Tensor choices =
        scratch.tensor(device::DType::i32, 1, input.rows).column_range(0, predicted.columns);
    const bool is_everywhere = predicted.columns == input.rows;
    if (!is_everywhere && asked.makes_grad_input) {
        launch(pass.stream, kernels::Fill{.output = wanted.grad_input, .value = 0});
    }
    for (std::size_t begin = 0; begin < predicted.columns; begin += most) {
        const std::size_t count = std::min(most, predicted.columns - begin);
        compute(pass, weights, input,
                {.rows = is_everywhere ? device::ConstTensor{} : predicted.column_range(begin, count),
                 .begin = begin,
                 .targets = pass.batch.targets.column_range(begin, count),
                 .hidden = hidden.row_range(0, count),
                 .logits = logits.row_range(0, count),
                 .statistics = statistics.row_range(0, sharers * count),
                 .log_sums = log_sums.column_range(0, count),
                 .losses = losses.column_range(begin, count),
                 .choices = wanted.gives_choices ? choices.column_range(begin, count) : device::Tensor{}},
                wanted);
    }
    if (asked.makes_grad_input) give_own_rows(pass, wanted.grad_input, asked.grad_input);
    if (wanted.counts_loss) state.loss = kernels::read_sum(pass.stream, losses);
    if (wanted.gives_choices) state.choices = kernels::read_numbers(pass.stream, choices);
}

// Computes the gradient of the own rows. `all` has the gradient of all rows; if outputs are shared, it has only
// the contribution of this rank's outputs.
void Head::give_own_rows(const Pass& pass, device::Tensor all, device::Tensor own) const {
    const device::Tensor sum = is_shared_ ? sum_over_ranks(pass, all) : own_part(pass, all);
    if (own.rows < all.rows) launch(pass.stream, kernels::Copy{.input = sum, .output = own});
}

void Head::compute(const Pass& pass, Weights weights, device::ConstTensor input, const Tile& tile,
                   const Wanted& wanted) const {
    const bool is_apart = tile.rows.is_present();
    if (is_apart)
        launch(pass.stream, kernels::GatherRows{.input = input, .rows = tile.rows, .output = tile.hidden});
    const device::ConstTensor hidden =
        is_apart ? device::ConstTensor(tile.hidden) : input.row_range(tile.begin, tile.logits.rows);
    launch(pass.stream, kernels::Linear{.input = hidden,
                                        .weight = weights[0],
                                        .bias = bias_ ? weights[1] : device::ConstTensor{},
                                        .output = tile.logits,
                                        .axes = kernels::WeightAxes::out_in});
    const double gradient_scale = wanted.has_gradients() ? pass.loss_scale : 0;
    if (is_shared_) {
        find_loss_of_shared(pass, tile, gradient_scale);
    } else {
        find_loss(pass, tile, gradient_scale);
    }
    add_gradients(pass, weights, hidden, tile, wanted);
}

void Head::find_loss(const Pass& pass, const Tile& tile, double gradient_scale) const {
    launch(pass.stream, kernels::CrossEntropy{.logits = tile.logits,
                                              .targets = tile.targets,
                                              .losses = tile.losses,
                                              .choices = tile.choices,
                                              .gradient_scale = gradient_scale,
                                              .smoothing = smooths_ ? pass.label_smoothing : 0});
}

void Head::find_loss_of_shared(const Pass& pass, const Tile& tile, double gradient_scale) const {
    const std::size_t rows = tile.logits.rows;
    const auto ranks = static_cast<std::size_t>(pass.group->ranks.size());
    const auto own = static_cast<std::size_t>(pass.group->ranks.rank());
    const device::Tensor& parts = tile.statistics;
    launch(pass.stream, kernels::LogitStatistics{.logits = tile.logits,
                                                 .targets = tile.targets,
                                                 .statistics = parts.row_range(own * rows, rows),
                                                 .first_column = outputs_.begin});
    gather_rows(pass.group->ranks, parts, layout::cut_evenly(ranks * rows, ranks));
    launch(pass.stream, kernels::MergeLogitStatistics{.parts = parts,
                                                      .targets = tile.targets,
                                                      .log_sums = tile.log_sums,
                                                      .losses = tile.losses,
                                                      .choices = tile.choices,
                                                      .columns = all_outputs_});
    if (gradient_scale == 0) return;
    launch(pass.stream, kernels::LogitGradients{.logits = tile.logits,
                                                .targets = tile.targets,
                                                .log_sums = tile.log_sums,
                                                .first_column = outputs_.begin,
                                                .columns = all_outputs_,
                                                .gradient_scale = gradient_scale});
}

void Head::add_gradients(const Pass& pass, Weights weights, device::ConstTensor hidden, const Tile& tile,
                         const Wanted& wanted) const {
    if (wanted.grad_weight.is_present() && (is_shared_ || is_first_)) {
        launch(pass.stream, kernels::LinearBackwardWeight{.input = hidden,
                                                          .grad_output = tile.logits,
                                                          .grad_weight = wanted.grad_weight,
                                                          .grad_bias = wanted.grad_bias,
                                                          .axes = kernels::WeightAxes::out_in});
    }
    if (!wanted.makes_grad_input) return;
    // Gathered rows are not read any more, so their gradients overwrite them.
    const bool is_apart = tile.rows.is_present();
    const device::Tensor grad =
        is_apart ? tile.hidden : wanted.grad_input.row_range(tile.begin, tile.logits.rows);
    launch(pass.stream, kernels::LinearBackwardInput{.grad_output = tile.logits,
                                                     .weight = weights[0],
                                                     .grad_input = grad,
                                                     .axes = kernels::WeightAxes::out_in});
    if (is_apart) {
        launch(pass.stream,
               kernels::ScatterRows{.input = grad, .rows = tile.rows, .output = wanted.grad_input});
    }
}

}  // namespace trireme::model
