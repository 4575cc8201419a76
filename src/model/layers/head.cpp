#include "trireme/model/head.hpp"

#include <algorithm>

#include "trireme/comm/collectives.hpp"
#include "trireme/kernels/columns.hpp"
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

// Returns the maximum bytes of a tile of logits. 64 MiB hold enough rows for an efficient matmul with GPT-2's
// vocabulary, but are little memory compared to the activations. bf16 is used only on GPUs, which need larger
// tiles: each tile reads and writes the whole weight gradient, which with small tiles would take longer than
// the matmul.
std::size_t max_tile_bytes(device::DType dtype) {
    return std::size_t{dtype == device::DType::bf16 ? 512U : 64U} << 20;
}

// Returns the stride between rows of logits, in elements. In bf16 the rows are padded: tensor cores need rows
// that are aligned to 16 bytes, and are fastest with rows aligned to 128 bytes. Rows of 50,257 logits are not
// aligned.
std::size_t compute_logit_stride(device::DType dtype, std::size_t outputs) {
    const std::size_t aligned_elements = dtype == device::DType::bf16 ? 64 : 1;
    return (outputs + aligned_elements - 1) / aligned_elements * aligned_elements;
}

ParameterSpec make_weight_spec(const ModelConfig& config) {
    const FamilyTraits& traits = find_traits(config.family);
    if (!config.has_vocabulary_head()) {
        ParameterSpec spec =
            make_matrix_spec("classifier.weight", config.labels, config.width, config.init_deviation);
        spec.belongs_to_head = true;
        return spec;
    }
    ParameterSpec spec =
        make_matrix_spec(std::string(config.tied ? traits.token_table : traits.vocabulary_head),
                         config.vocabulary, config.width, config.init_deviation);
    spec.belongs_to_head = !config.tied;
    spec.is_tied = config.tied;
    return spec;
}

std::optional<ParameterSpec> make_bias_spec(const ModelConfig& config) {
    if (config.task == Task::language) return std::nullopt;
    ParameterSpec spec = make_vector_spec("classifier.bias", config.labels, Init::zeros);
    if (config.task == Task::masked) {
        // Files of an untied model store a bias under each of the two names; the model uses the bias of the
        // decoder.
        const char* const name = config.tied ? "cls.predictions.bias" : "cls.predictions.decoder.bias";
        spec = make_vector_spec(name, config.vocabulary, Init::zeros);
    }
    spec.belongs_to_head = true;
    return spec;
}

// True for the gradient of a frozen parameter. A rank without outputs has a gradient without rows instead.
bool is_frozen(const device::Tensor& gradient) { return gradient.columns == 0; }

// Returns the largest number of outputs (vocabulary rows) that a tensor rank has. This number determines the
// rows per tile, because all tensor ranks must use the same tiles even if their shares differ.
std::size_t find_max_outputs(const ModelConfig& config, TensorPart part) {
    std::size_t max_outputs = 0;
    for (part.rank = 0; part.rank < static_cast<int>(part.shares.size()); ++part.rank) {
        max_outputs = std::max(max_outputs, part.find_vocabulary_rows(config).count);
    }
    return max_outputs;
}

}  // namespace

// The results that process_tiles() must compute. `grad_weight` and `grad_bias` are not computed if they are
// absent; `grad_weight` is also absent for a frozen token table. `needs_grad_input` is a separate member,
// because with sequence parallelism a rank may hold no rows. Such a rank has no `grad_input`, but its logits
// contribute to the gradients of the other ranks' rows.
struct Head::Requests {
    device::Tensor grad_input = {};   // (own rows, width); (all rows, width) in process_tile()
    device::Tensor grad_weight = {};  // (own outputs, width)
    device::Tensor grad_bias = {};    // (own outputs)
    bool needs_grad_input = false;
    bool needs_loss = true;
    bool needs_choices = false;  // the argmax of each row of logits

    bool needs_gradients() const {
        return needs_grad_input || grad_weight.is_present() || grad_bias.is_present();
    }
};

// Some of the rows with a target. In shapes, `count` is the number of rows of the tile, and `ranks` is the
// number of tensor ranks.
struct Head::Tile {
    device::ConstTensor rows;     // (count) i32: indices in the micro-batch; absent if all rows have a target
    std::size_t begin;            // index of the tile's first row among the rows with a target
    device::ConstTensor targets;  // (count) i32
    device::Tensor hidden;        // (count, width): scratch for the input rows if `rows` is present
    device::Tensor logits;        // (count, own outputs)
    device::Tensor statistics;    // (ranks * count, logit_field::count): scratch if outputs are sharded
    device::Tensor log_sums;      // (1, count): scratch if outputs are sharded
    device::Tensor losses;        // (count)
    device::Tensor choices;       // (count) i32: argmax of each row of logits; absent if not needed
};

Head::Head(const ModelConfig& config, const TensorPart& part)
    : weight_(make_weight_spec(config)),
      bias_(make_bias_spec(config)),
      width_(config.width),
      all_outputs_(weight_.rows),
      outputs_(config.has_vocabulary_head() ? part.find_vocabulary_rows(config)
                                            : layout::Range{0, all_outputs_}),
      max_outputs_(config.has_vocabulary_head() ? find_max_outputs(config, part) : all_outputs_),
      has_label_smoothing_(config.task == Task::classify),
      is_sharded_(config.has_vocabulary_head() && !part.is_whole()),
      is_first_rank_(part.is_first()) {
    const Channels own_outputs{.width = all_outputs_, .own_ranges = {outputs_}};
    weight_ = cut_parameter(weight_, own_outputs, make_all_channels(width_));
    if (bias_) bias_ = cut_parameter(*bias_, make_all_channels(1), own_outputs);
}

std::vector<ParameterSpec> Head::parameters() const {
    std::vector<ParameterSpec> specs{weight_};
    if (bias_) specs.push_back(*bias_);
    return specs;
}

std::size_t Head::max_tile_rows(device::DType dtype) const {
    return std::max<std::size_t>(1,
                                 max_tile_bytes(dtype) / (std::max(max_outputs_, width_) * byte_size(dtype)));
}

std::size_t Head::compute_tile_rows(device::DType dtype, std::size_t rows) const {
    const std::size_t max_rows = max_tile_rows(dtype);
    const std::size_t tiles = std::max<std::size_t>(1, (rows + max_rows - 1) / max_rows);
    return (rows + tiles - 1) / tiles;
}

device::Tensor Head::forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                             device::Arena& stash) const {
    state.loss = 0;
    if (!pass.is_training) process_tiles(pass, weights, input, {.needs_choices = true}, state, stash);
    return {};
}

void Head::backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                          device::ConstTensor /*grad_output*/, device::Tensor grad_input, State& state,
                          device::Arena& stash) const {
    process_tiles(pass, weights, input, {.grad_input = grad_input, .needs_grad_input = true}, state, stash);
}

void Head::backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                           device::ConstTensor /*grad_output*/, State& state, Gradients gradients,
                           device::Arena& scratch) const {
    if (is_frozen(gradients[0]) && !bias_) return;
    process_tiles(pass, weights, input,
                  {.grad_weight = gradients[0],
                   .grad_bias = bias_ ? gradients[1] : device::Tensor{},
                   .needs_loss = false},
                  state, scratch);
}

void Head::backward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor grad_input,
                    State& state, Gradients gradients, device::Arena& scratch) const {
    process_tiles(pass, weights, input,
                  {.grad_input = grad_input,
                   .grad_weight = gradients[0],
                   .grad_bias = bias_ ? gradients[1] : device::Tensor{},
                   .needs_grad_input = true},
                  state, scratch);
}

void Head::process_tiles(const Pass& pass, Weights weights, device::ConstTensor own_input,
                         const Requests& caller_requests, State& state, device::Arena& scratch) const {
    const device::ArenaScope scope(scratch);
    const device::ConstTensor input = gather_all_rows(pass, own_input, scratch);
    Requests requests = caller_requests;
    const bool are_rows_cut = own_input.rows < input.rows;  // by sequence parallelism
    if (caller_requests.needs_grad_input && are_rows_cut)
        requests.grad_input = scratch.tensor(pass.dtype, input.rows, width_);
    const device::ConstTensor predicted_rows = pass.batch.predicted_rows;
    const std::size_t target_count = predicted_rows.columns;
    const std::size_t rows_per_tile = compute_tile_rows(pass.dtype, target_count);
    // The size of the arena is predicted from the largest micro-batch, and no other micro-batch may need more.
    // Fewer targets may make larger tiles. For example, 100 rows may fit into one tile, but 101 rows make tiles
    // of at most 51. The sizes of the buffers therefore do not depend on the number of targets.
    const std::size_t buffer_rows = std::min(max_tile_rows(pass.dtype), input.rows);
    const device::Tensor hidden = scratch.tensor(pass.dtype, buffer_rows, width_);
    const device::Tensor logits =
        scratch.tensor(pass.dtype, buffer_rows, compute_logit_stride(pass.dtype, outputs_.count))
            .column_range(0, outputs_.count);
    const std::size_t sharding_ranks =
        is_sharded_ ? static_cast<std::size_t>(pass.group->communicator.size()) : 0;
    const device::Tensor statistics =
        scratch.tensor(device::DType::f64, sharding_ranks * buffer_rows, kernels::logit_field::count);
    const device::Tensor log_sums = scratch.tensor(device::DType::f64, 1, buffer_rows);
    const device::Tensor losses =
        scratch.tensor(device::DType::f64, 1, input.rows).column_range(0, target_count);
    const device::Tensor choices =
        scratch.tensor(device::DType::i32, 1, input.rows).column_range(0, target_count);
    const bool has_target_in_every_row = target_count == input.rows;
    if (!has_target_in_every_row && caller_requests.needs_grad_input) {
        launch(pass.stream, kernels::Fill{.output = requests.grad_input, .value = 0});
    }
    for (std::size_t begin = 0; begin < target_count; begin += rows_per_tile) {
        const std::size_t count = std::min(rows_per_tile, target_count - begin);
        process_tile(
            pass, weights, input,
            {.rows =
                 has_target_in_every_row ? device::ConstTensor{} : predicted_rows.column_range(begin, count),
             .begin = begin,
             .targets = pass.batch.targets.column_range(begin, count),
             .hidden = hidden.row_range(0, count),
             .logits = logits.row_range(0, count),
             .statistics = statistics.row_range(0, sharding_ranks * count),
             .log_sums = log_sums.column_range(0, count),
             .losses = losses.column_range(begin, count),
             .choices = requests.needs_choices ? choices.column_range(begin, count) : device::Tensor{}},
            requests);
    }
    if (caller_requests.needs_grad_input)
        extract_own_rows(pass, requests.grad_input, caller_requests.grad_input);
    if (requests.needs_loss) state.loss = kernels::read_sum(pass.stream, losses);
    if (requests.needs_choices) state.choices = kernels::read_integers(pass.stream, choices);
}

// Collective over the tensor group if outputs are sharded. `grad_all_rows` has the gradient of all rows or, if
// outputs are sharded, only the contribution of this rank's outputs; the contributions of the ranks are summed.
// Writes the gradient of this rank's rows to `grad_own_rows`. If this rank has all rows, both parameters are
// the same tensor.
void Head::extract_own_rows(const Pass& pass, device::Tensor grad_all_rows,
                            device::Tensor grad_own_rows) const {
    const device::Tensor sum =
        is_sharded_ ? reduce_over_ranks(pass, grad_all_rows) : view_own_rows(pass, grad_all_rows);
    if (grad_own_rows.rows < grad_all_rows.rows)
        launch(pass.stream, kernels::Copy{.input = sum, .output = grad_own_rows});
}

void Head::process_tile(const Pass& pass, Weights weights, device::ConstTensor input, const Tile& tile,
                        const Requests& requests) const {
    const bool are_rows_gathered = tile.rows.is_present();
    if (are_rows_gathered)
        launch(pass.stream, kernels::GatherRows{.input = input, .rows = tile.rows, .output = tile.hidden});
    const device::ConstTensor hidden =
        are_rows_gathered ? device::ConstTensor(tile.hidden) : input.row_range(tile.begin, tile.logits.rows);
    launch(pass.stream, kernels::Linear{.input = hidden,
                                        .weight = weights[0],
                                        .bias = bias_ ? weights[1] : device::ConstTensor{},
                                        .output = tile.logits,
                                        .axes = kernels::WeightAxes::out_in});
    const double gradient_scale = requests.needs_gradients() ? pass.loss_scale : 0;
    if (is_sharded_) {
        compute_sharded_loss(pass, tile, gradient_scale);
    } else {
        compute_loss(pass, tile, gradient_scale);
    }
    add_gradients(pass, weights, hidden, tile, requests);
}

void Head::compute_loss(const Pass& pass, const Tile& tile, double gradient_scale) const {
    launch(pass.stream, kernels::CrossEntropy{.logits = tile.logits,
                                              .targets = tile.targets,
                                              .losses = tile.losses,
                                              .choices = tile.choices,
                                              .gradient_scale = gradient_scale,
                                              .smoothing = has_label_smoothing_ ? pass.label_smoothing : 0});
}

void Head::compute_sharded_loss(const Pass& pass, const Tile& tile, double gradient_scale) const {
    const std::size_t rows = tile.logits.rows;
    const auto ranks = static_cast<std::size_t>(pass.group->communicator.size());
    const auto rank = static_cast<std::size_t>(pass.group->communicator.rank());
    const device::Tensor& statistics = tile.statistics;  // (ranks * rows, logit_field::count)
    launch(pass.stream, kernels::LogitStatistics{.logits = tile.logits,
                                                 .targets = tile.targets,
                                                 .statistics = statistics.row_range(rank * rows, rows),
                                                 .first_column = outputs_.begin});
    all_gather_rows(pass.group->communicator, statistics, layout::cut_evenly(ranks * rows, ranks));
    launch(pass.stream, kernels::MergeLogitStatistics{.rank_statistics = statistics,
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
                         const Requests& requests) const {
    // If outputs are not sharded, all tensor ranks would compute equal weight gradients. The gradients are
    // later summed over the ranks, so only the first rank adds them.
    const bool adds_weight_gradients = is_sharded_ || is_first_rank_;
    if (adds_weight_gradients && requests.grad_weight.is_present()) {
        launch(pass.stream, kernels::LinearBackwardWeight{.input = hidden,
                                                          .grad_output = tile.logits,
                                                          .grad_weight = requests.grad_weight,
                                                          .grad_bias = requests.grad_bias,
                                                          .axes = kernels::WeightAxes::out_in});
    } else if (adds_weight_gradients && requests.grad_bias.is_present()) {
        launch(pass.stream, kernels::ColumnSums{.input = tile.logits, .sums = requests.grad_bias});
    }
    if (!requests.needs_grad_input) return;
    // The gathered input rows are no longer needed, so their gradients overwrite them.
    const bool are_rows_gathered = tile.rows.is_present();
    const device::Tensor grad_hidden =
        are_rows_gathered ? tile.hidden : requests.grad_input.row_range(tile.begin, tile.logits.rows);
    launch(pass.stream, kernels::LinearBackwardInput{.grad_output = tile.logits,
                                                     .weight = weights[0],
                                                     .grad_input = grad_hidden,
                                                     .axes = kernels::WeightAxes::out_in});
    if (are_rows_gathered) {
        launch(pass.stream,
               kernels::ScatterRows{.input = grad_hidden, .rows = tile.rows, .output = requests.grad_input});
    }
}

}  // namespace trireme::model
