#include "cases.hpp"

#include <cmath>

#include "trireme/kernels/activation.hpp"
#include "trireme/kernels/attention.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/rotary.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme::perf {
namespace {

constexpr std::size_t channels = 768;
constexpr std::size_t heads = 12;
constexpr std::size_t vocabulary = 50257;
constexpr std::size_t head_tile_rows = 512;  // maximum rows of logits in the cases of the head
constexpr std::size_t table_elements = vocabulary * channels;  // size of the largest tensor of an update

// Makes the tensors of the cases from one arena, with values of the magnitude that occurs in training. To save
// memory, some kernels write their results over other operands: only the time of a kernel counts.
class Cases {
public:
    Cases(std::size_t samples, std::size_t length, const std::function<void(const Case&)>& use)
        : samples_(samples), length_(length), rows_(samples * length), use_(use) {}

    void linear(std::size_t in, std::size_t out);
    void head();
    void attention();
    void norm();
    void rms_norm();
    void activation();
    void silu_gate();
    void rotary();
    void residual_add();
    void embedding();
    void cross_entropy();
    void update();
    void fill();

private:
    device::Tensor normal(std::size_t rows, std::size_t columns, double deviation = 0.5) {
        const device::Tensor tensor = arena_.tensor(device::DType::f32, rows, columns);
        device::CpuStream stream{.threads = 1};
        run(stream, kernels::FillNormal{.output = tensor,
                                        .key = RandomKey{1}.then(arena_.mark()),
                                        .deviation = deviation,
                                        .global_columns = columns});
        return tensor;
    }
    // Returns `count` scattered indices below `bound`.
    device::Tensor indices(std::size_t count, std::size_t bound) {
        const device::Tensor tensor = arena_.tensor(device::DType::i32, 1, count);
        for (std::size_t i = 0; i < count; ++i) {
            tensor.as<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7919 % bound);
        }
        return tensor;
    }
    // Passes the case of one kernel to `use_`, which measures it.
    template <class Op>
    void measure(std::string shape, Floor floor, const Op& op, std::optional<PlainMatmul> matmul = {}) {
        op.check();
        use_({std::string(op.cost().kernel), std::move(shape), floor, op.cost(), matmul,
              [&op](device::CpuStream& stream) { kernels::run(stream, op); }});
    }
    // Returns the shape of a matrix with all rows: "2048 x 768".
    std::string shape_of_rows(std::size_t columns) const { return cat(rows_, " x ", columns); }

    device::Arena arena_{"benchmark", std::size_t{3} << 30, device::MemorySpace::host};
    std::size_t samples_;
    std::size_t length_;
    std::size_t rows_;
    const std::function<void(const Case&)>& use_;
};

void Cases::linear(std::size_t in, std::size_t out) {
    const device::ArenaScope scope(arena_);
    const std::string shape = cat(rows_, " x ", in, " -> ", out);
    const device::Tensor input = normal(rows_, in);
    const device::Tensor weight = normal(in, out, 0.02);
    const device::Tensor bias = normal(1, out, 0.02);
    const device::Tensor output = normal(rows_, out);
    measure(shape, Floor::matmul,
            kernels::Linear{.input = input, .weight = weight, .bias = bias, .output = output},
            PlainMatmul{.rows = rows_, .columns = out, .depth = in});
    measure(shape, Floor::matmul,
            kernels::LinearBackwardInput{.grad_output = output, .weight = weight, .grad_input = input},
            PlainMatmul{.rows = rows_, .columns = in, .depth = out, .is_right_transposed = true});
    measure(shape, Floor::matmul,
            kernels::LinearBackwardWeight{
                .input = input, .grad_output = output, .grad_weight = weight, .grad_bias = bias},
            PlainMatmul{
                .rows = in, .columns = out, .depth = rows_, .is_left_transposed = true, .accumulate = true});
}

// A tile of logits in the head; the weight is the (vocabulary, channels) token table.
void Cases::head() {
    const device::ArenaScope scope(arena_);
    const std::size_t rows = std::min(rows_, head_tile_rows);
    const std::string shape = cat(rows, " x ", channels, " -> ", vocabulary, ", table");
    const device::Tensor input = normal(rows, channels);
    const device::Tensor table = normal(vocabulary, channels, 0.02);
    const device::Tensor logits = normal(rows, vocabulary);
    constexpr kernels::WeightAxes axes = kernels::WeightAxes::out_in;
    measure(shape, Floor::matmul,
            kernels::Linear{.input = input, .weight = table, .bias = {}, .output = logits, .axes = axes},
            PlainMatmul{.rows = rows, .columns = vocabulary, .depth = channels, .is_right_transposed = true});
    measure(
        shape, Floor::matmul,
        kernels::LinearBackwardInput{.grad_output = logits, .weight = table, .grad_input = input, .axes = axes},
        PlainMatmul{.rows = rows, .columns = channels, .depth = vocabulary});
    measure(shape, Floor::matmul,
            kernels::LinearBackwardWeight{
                .input = input, .grad_output = logits, .grad_weight = table, .grad_bias = {}, .axes = axes},
            PlainMatmul{.rows = vocabulary,
                        .columns = channels,
                        .depth = rows,
                        .is_left_transposed = true,
                        .accumulate = true});
}

void Cases::attention() {
    const device::ArenaScope scope(arena_);
    const std::string shape = cat(samples_, " x ", length_, ", ", heads, " heads of ", channels / heads);
    const device::Tensor fused = normal(rows_, 3 * channels);
    const device::Tensor grad_fused = normal(rows_, 3 * channels);
    const device::Tensor output = normal(rows_, channels);
    const device::Tensor grad_output = normal(rows_, channels);
    const device::Tensor log_sum = normal(rows_, heads);
    std::vector<kernels::Segment> segments;
    for (std::size_t s = 0; s < samples_; ++s) segments.push_back({.begin = s * length_, .length = length_});
    const kernels::AttentionShape attention{
        .segments = segments, .heads = heads, .key_value_heads = heads, .scale = 0.125, .dropout = {}};
    measure(shape, Floor::flops,
            kernels::Attention{.query = fused.column_range(0, channels),
                               .key = fused.column_range(channels, channels),
                               .value = fused.column_range(2 * channels, channels),
                               .output = output,
                               .log_sum = log_sum,
                               .shape = attention});
    measure(shape, Floor::flops,
            kernels::AttentionBackward{.query = fused.column_range(0, channels),
                                       .key = fused.column_range(channels, channels),
                                       .value = fused.column_range(2 * channels, channels),
                                       .output = output,
                                       .log_sum = log_sum,
                                       .grad_output = grad_output,
                                       .grad_query = grad_fused.column_range(0, channels),
                                       .grad_key = grad_fused.column_range(channels, channels),
                                       .grad_value = grad_fused.column_range(2 * channels, channels),
                                       .shape = attention});
}

void Cases::norm() {
    const device::ArenaScope scope(arena_);
    const device::Tensor input = normal(rows_, channels);
    const device::Tensor output = normal(rows_, channels);
    const device::Tensor grad_input = normal(rows_, channels);
    const device::Tensor gain = normal(1, channels);
    const device::Tensor bias = normal(1, channels);
    const device::Tensor mean = normal(1, rows_);
    const device::Tensor inv_std = normal(1, rows_);
    measure(
        shape_of_rows(channels), Floor::bytes,
        kernels::LayerNorm{
            .input = input, .gain = gain, .bias = bias, .output = output, .mean = mean, .inv_std = inv_std});
    measure(shape_of_rows(channels), Floor::bytes,
            kernels::LayerNormBackwardInput{.input = input,
                                            .gain = gain,
                                            .mean = mean,
                                            .inv_std = inv_std,
                                            .grad_output = output,
                                            .residual = grad_input,
                                            .grad_input = grad_input});
    measure(shape_of_rows(channels), Floor::bytes,
            kernels::LayerNormBackwardWeight{.input = input,
                                             .mean = mean,
                                             .inv_std = inv_std,
                                             .grad_output = output,
                                             .grad_gain = gain,
                                             .grad_bias = bias});
}

void Cases::rms_norm() {
    const device::ArenaScope scope(arena_);
    const device::Tensor input = normal(rows_, channels);
    const device::Tensor output = normal(rows_, channels);
    const device::Tensor grad_input = normal(rows_, channels);
    const device::Tensor gain = normal(1, channels);
    const device::Tensor inv_rms = normal(1, rows_);
    measure(shape_of_rows(channels), Floor::bytes,
            kernels::RmsNorm{.input = input, .gain = gain, .output = output, .inv_rms = inv_rms});
    measure(shape_of_rows(channels), Floor::bytes,
            kernels::RmsNormBackwardInput{.input = input,
                                          .gain = gain,
                                          .inv_rms = inv_rms,
                                          .grad_output = output,
                                          .residual = grad_input,
                                          .grad_input = grad_input});
    measure(shape_of_rows(channels), Floor::bytes,
            kernels::RmsNormBackwardWeight{
                .input = input, .inv_rms = inv_rms, .grad_output = output, .grad_gain = gain});
}

void Cases::activation() {
    const device::ArenaScope scope(arena_);
    const device::Tensor input = normal(rows_, 4 * channels);
    const device::Tensor output = normal(rows_, 4 * channels);
    for (const auto& [kind, name] : {std::pair{kernels::ActivationKind::gelu_tanh, "gelu_tanh"},
                                     std::pair{kernels::ActivationKind::gelu, "gelu"}}) {
        measure(cat(shape_of_rows(4 * channels), ", ", name), Floor::bytes,
                kernels::Activation{.input = input, .output = output, .kind = kind});
        measure(cat(shape_of_rows(4 * channels), ", ", name), Floor::bytes,
                kernels::ActivationBackward{
                    .input = input, .grad_output = output, .grad_input = output, .kind = kind});
    }
}

// Gate and up projection are the two halves of one fused tensor.
void Cases::silu_gate() {
    const device::ArenaScope scope(arena_);
    const device::Tensor both = normal(rows_, 8 * channels);
    const device::Tensor grad_both = normal(rows_, 8 * channels);
    const device::Tensor output = normal(rows_, 4 * channels);
    const device::Tensor gate = both.column_range(0, 4 * channels);
    const device::Tensor up = both.column_range(4 * channels, 4 * channels);
    measure(shape_of_rows(4 * channels), Floor::bytes,
            kernels::SiluGate{.gate = gate, .up = up, .output = output});
    measure(shape_of_rows(4 * channels), Floor::bytes,
            kernels::SiluGateBackward{.gate = gate,
                                      .up = up,
                                      .grad_output = output,
                                      .grad_gate = grad_both.column_range(0, 4 * channels),
                                      .grad_up = grad_both.column_range(4 * channels, 4 * channels)});
}

void Cases::rotary() {
    const device::ArenaScope scope(arena_);
    std::vector<double> frequencies;
    for (std::size_t c = 0; c < channels / heads / 2; ++c) {
        frequencies.push_back(std::pow(1e4, -2.0 * static_cast<double>(c * heads) / channels));
    }
    const device::Tensor fused = normal(rows_, 3 * channels);
    measure(cat(shape_of_rows(channels), ", ", heads, " heads"), Floor::bytes,
            kernels::Rotary{.values = fused.column_range(0, channels),
                            .positions = indices(rows_, length_),
                            .frequencies = frequencies});
}

void Cases::residual_add() {
    const device::ArenaScope scope(arena_);
    const device::Tensor residual = normal(rows_, channels);
    const device::Tensor input = normal(rows_, channels);
    const device::Tensor output = normal(rows_, channels);
    const device::Tensor samples = arena_.tensor(device::DType::i64, 1, rows_);
    for (std::size_t r = 0; r < rows_; ++r) {
        samples.as<std::int64_t>()[r] = static_cast<std::int64_t>(r / length_);
    }
    const kernels::Dropout dropout{
        .rate = 0.1, .key = RandomKey{1}, .samples = samples, .positions = indices(rows_, length_)};
    measure(shape_of_rows(channels), Floor::bytes,
            kernels::ResidualAdd{.residual = residual, .input = input, .output = output, .dropout = {}});
    measure(shape_of_rows(channels) + ", dropout 0.1", Floor::bytes,
            kernels::ResidualAdd{.residual = residual, .input = input, .output = output, .dropout = dropout});
    measure(shape_of_rows(channels) + ", dropout 0.1", Floor::bytes,
            kernels::DropoutBackward{.grad_output = input, .grad_input = output, .dropout = dropout});
}

void Cases::embedding() {
    const device::ArenaScope scope(arena_);
    const device::Tensor tokens = indices(rows_, vocabulary);
    const device::Tensor positions = indices(rows_, length_);
    const device::Tensor token_table = normal(vocabulary, channels);
    const device::Tensor position_table = normal(length_, channels);
    const device::Tensor output = normal(rows_, channels);
    measure(shape_of_rows(channels), Floor::bytes,
            kernels::Embedding{.tokens = tokens,
                               .positions = positions,
                               .token_table = token_table,
                               .position_table = position_table,
                               .output = output});
    measure(shape_of_rows(channels), Floor::bytes,
            kernels::EmbeddingBackward{.tokens = tokens,
                                       .positions = positions,
                                       .grad_output = output,
                                       .grad_token_table = token_table,
                                       .grad_position_table = position_table});
}

void Cases::cross_entropy() {
    const device::ArenaScope scope(arena_);
    const std::size_t rows = std::min(rows_, head_tile_rows);
    const device::Tensor logits = normal(rows, vocabulary);
    const device::Tensor losses = arena_.tensor(device::DType::f64, 1, rows);
    const device::Tensor targets = indices(rows, vocabulary);
    measure(cat(rows, " x ", vocabulary), Floor::bytes,
            kernels::CrossEntropy{.logits = logits, .targets = targets, .losses = losses, .gradient_scale = 1});
}

void Cases::update() {
    const device::ArenaScope scope(arena_);
    const device::Tensor parameter = normal(1, table_elements);
    const device::Tensor gradient = normal(1, table_elements);
    const device::Tensor moment1 = arena_.tensor(device::DType::f32, 1, table_elements);
    const device::Tensor moment2 = arena_.tensor(device::DType::f32, 1, table_elements);
    const std::string shape = cat(table_elements);
    measure(shape, Floor::bytes,
            kernels::AdamWUpdate{.parameter = parameter,
                                 .gradient = gradient,
                                 .moment1 = moment1,
                                 .moment2 = moment2,
                                 .rate = 1e-4,
                                 .weight_decay = 0.1});
    measure(
        shape, Floor::bytes,
        kernels::SgdUpdate{
            .parameter = parameter, .gradient = gradient, .velocity = moment1, .rate = 1e-4, .momentum = 0.9});
    measure(shape, Floor::bytes,
            kernels::SumOfSquares{.input = gradient, .result = arena_.tensor(device::DType::f64, 1, 1)});
}

void Cases::fill() {
    const device::ArenaScope scope(arena_);
    const device::Tensor output = arena_.tensor(device::DType::f32, vocabulary, channels);
    const std::string shape = cat(vocabulary, " x ", channels);
    measure(shape, Floor::bytes, kernels::Fill{.output = output});
    measure(shape, Floor::bytes,
            kernels::FillNormal{
                .output = output, .key = RandomKey{1}, .deviation = 0.02, .global_columns = channels});
}

}  // namespace

void for_each_case(std::size_t samples, std::size_t length, const std::function<void(const Case&)>& use) {
    Cases cases(samples, length, use);
    cases.linear(channels, 3 * channels);
    cases.linear(channels, channels);
    cases.linear(channels, 4 * channels);
    cases.linear(4 * channels, channels);
    cases.head();
    cases.attention();
    cases.norm();
    cases.rms_norm();
    cases.activation();
    cases.silu_gate();
    cases.rotary();
    cases.residual_add();
    cases.embedding();
    cases.cross_entropy();
    cases.update();
    cases.fill();
}

}  // namespace trireme::perf
