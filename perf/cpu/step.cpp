// Measures one training step of a GPT-2 on one rank, with every kernel beside its floor: matmuls beside one
// plain library call of the same shape, attention beside its operations at the rate of a 512^3 matmul, and the
// rest beside its bytes at copy bandwidth. The program also compares the predicted memory with the growth
// of the process.
//
//   perf_cpu_step [MODEL [SAMPLES [LENGTH [REPEATS [THREADS [RESULT.json]]]]]]
//
// Defaults: gpt2, 4 samples of 64 tokens, 7 repeats, 1 thread, no file.
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "floors.hpp"
#include "provenance.hpp"
#include "trireme/base/random.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/peak.hpp"
#include "trireme/optim/optimizer.hpp"
#include "whole_model.hpp"

namespace trireme::perf {
namespace {

struct Shape {
    std::string model = "gpt2";
    std::size_t samples = 4;
    std::size_t length = 64;
    std::size_t repeats = 7;
    int threads = 1;
    std::string result;  // path of the JSON file; empty if none is written
    nlohmann::ordered_json provenance = {};

    std::size_t rows() const { return samples * length; }
};

// Random tokens in `samples` sequences of `length` tokens. Each token has a random target.
struct RandomBatch {
    explicit RandomBatch(const Shape& shape, std::size_t vocabulary) {
        for (std::size_t r = 0; r < shape.rows(); ++r) {
            const RandomBlock block = random_block(RandomKey{1}, r);
            tokens.push_back(static_cast<std::int32_t>(block[0] % vocabulary));
            targets.push_back(static_cast<std::int32_t>(block[1] % vocabulary));
            positions.push_back(static_cast<std::int32_t>(r % shape.length));
            visits.push_back(static_cast<std::int64_t>(r / shape.length));
            predicted.push_back(static_cast<std::int32_t>(r));
        }
        for (std::size_t s = 0; s < shape.samples; ++s) {
            segments.push_back({.begin = s * shape.length, .length = shape.length});
        }
    }

    model::TokenBatch view() const {
        const std::size_t rows = tokens.size();
        model::TokenBatch batch;
        batch.tokens = {tokens.data(), device::DType::i32, 1, rows, rows};
        batch.positions = {positions.data(), device::DType::i32, 1, rows, rows};
        batch.visits = {visits.data(), device::DType::i64, 1, rows, rows};
        batch.segments = segments;
        batch.predicted_rows = {predicted.data(), device::DType::i32, 1, rows, rows};
        batch.targets = {targets.data(), device::DType::i32, 1, rows, rows};
        return batch;
    }

    std::vector<std::int32_t> tokens, positions, predicted, targets;  // predicted: the rows with a target (all)
    std::vector<std::int64_t> visits;                                 // per row: number of its sample
    std::vector<kernels::Segment> segments;
};

class Step {
public:
    Step(const Shape& shape, const model::ModelConfig& model)
        : batch_(shape, model.vocabulary),
          memory_(
              stage::predict(model, device::DType::f32, {.segments = batch_.segments, .rows = shape.rows()})),
          stream_{.backend = device::CpuStream{.threads = shape.threads}},
          stage_(model, device::DType::f32, device::MemorySpace::host, memory_),
          shards_(optim::make_whole_shards(stage_.parameters())),
          optimizer_({}, stage_.parameters(), shards_, device::DType::f32, device::MemorySpace::host),
          norm_scratch_("norm", (shards_.size() + 8) * byte_size(device::DType::f64),
                        device::MemorySpace::host),
          loss_scale_(1 / static_cast<double>(shape.rows())) {
        initialize_parameters(stream_, stage_.parameters(), stage_.values(), 1);
    }

    void run() {
        stream_.ledger.clear();
        launch(stream_, kernels::Fill{.output = stage_.gradients().all(), .value = 0});
        stage_.forward_backward(stream_, batch_.view(), {.loss_scale = loss_scale_});
        const double norm =
            std::sqrt(compute_sum_of_squares(stream_, stage_.gradients(), shards_, norm_scratch_));
        optimizer_.update(stream_, stage_.values(), stage_.gradients(), 1e-4,
                          optim::compute_clip_scale(norm, 1));
    }

    const device::Ledger& ledger() const { return stream_.ledger; }
    std::size_t predicted_bytes() const {
        return stage_.values().bytes() + stage_.gradients().bytes() + memory_.activations + memory_.scratch +
               memory_.block_activations + memory_.exchange + optimizer_.bytes();
    }

private:
    RandomBatch batch_;
    stage::StageMemory memory_;
    device::Stream stream_;
    stage::WholeModel stage_;
    std::vector<optim::ParameterShard> shards_;
    optim::Optimizer optimizer_;
    device::Arena norm_scratch_;
    double loss_scale_;
};

// Returns the plain library call for the matmul of a ledger entry. The head's weight is stored transposed.
PlainMatmul make_plain_matmul(const device::Cost& cost, std::size_t vocabulary) {
    const auto [rows, columns, depth] = cost.matmul;
    const bool is_input_half = cost.kernel == "linear_backward_input";
    const bool is_weight_half = cost.kernel == "linear_backward_weight";
    const bool is_head = columns == vocabulary || depth == vocabulary;
    return {.rows = rows,
            .columns = columns,
            .depth = depth,
            .is_left_transposed = is_weight_half,
            .is_right_transposed = !is_weight_half && is_input_half != is_head,
            .accumulate = is_weight_half};
}

struct Line {
    std::string kernel, shape;
    std::size_t calls = 0;
    double seconds = 0;  // sum over all calls of one step
    double floor = 0;    // seconds, also for all calls
};

class Floors {
public:
    explicit Floors(std::size_t vocabulary) : vocabulary_(vocabulary) {
        constexpr std::size_t side = 512;
        matmul_rate_ = 2.0 * side * side * side / library_seconds({side, side, side}, 9).least;
    }

    // Returns the floor of all calls of a ledger entry, in seconds.
    double of(const device::Ledger::Entry& entry) const {
        if (entry.total_cost.matmul[0] > 0) {
            return static_cast<double>(entry.calls) *
                   library_seconds(make_plain_matmul(entry.total_cost, vocabulary_), 7).least;
        }
        if (entry.total_cost.flops > 0) return entry.total_cost.flops / matmul_rate_;
        const auto bytes = static_cast<std::size_t>(entry.total_cost.bytes / static_cast<double>(entry.calls));
        // A copy of n bytes accesses 2 n bytes.
        return entry.total_cost.bytes / measure_copy_bandwidth(std::max<std::size_t>(bytes / 2, 64), 7);
    }

private:
    std::size_t vocabulary_;
    double matmul_rate_ = 0;
};

std::string to_string(const std::array<std::size_t, 3>& matmul) {
    if (matmul[0] == 0) return "";
    return cat(matmul[0], " x ", matmul[1], " x ", matmul[2]);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// Median seconds of each kernel over the repeats, and of the whole step.
struct MeasuredSteps {
    std::vector<device::Ledger::Entry> entries;
    double step_seconds = 0;
};

MeasuredSteps measure_steps(Step& step, std::size_t repeats) {
    std::vector<double> steps;
    std::vector<std::vector<double>> kernels;
    MeasuredSteps measured;
    step.run();
    for (std::size_t r = 0; r < repeats; ++r) {
        const double begin = device::now_seconds();
        step.run();
        steps.push_back(device::now_seconds() - begin);
        measured.entries = step.ledger().entries();
        kernels.resize(measured.entries.size());
        for (std::size_t e = 0; e < kernels.size(); ++e) kernels[e].push_back(measured.entries[e].seconds);
    }
    for (std::size_t e = 0; e < kernels.size(); ++e) measured.entries[e].seconds = median(kernels[e]);
    measured.step_seconds = median(steps);
    return measured;
}

std::vector<Line> compare_with_floors(const MeasuredSteps& measured, std::size_t vocabulary) {
    const Floors floors(vocabulary);
    std::vector<Line> lines;
    for (const device::Ledger::Entry& entry : measured.entries) {
        lines.push_back({.kernel = std::string(entry.total_cost.kernel),
                         .shape = to_string(entry.total_cost.matmul),
                         .calls = entry.calls,
                         .seconds = entry.seconds,
                         .floor = floors.of(entry)});
    }
    return lines;
}

void print(const Line& line) {
    std::printf("%-24s %-22s %5zu %10.2f %10.2f %10.2f\n", line.kernel.c_str(), line.shape.c_str(), line.calls,
                1e3 * line.seconds, 1e3 * line.floor, line.floor / line.seconds);
}

void write_json(const Shape& shape, const std::vector<Line>& lines, const nlohmann::ordered_json& totals) {
    nlohmann::ordered_json result = totals;
    for (const Line& line : lines) {
        result["kernels"].push_back({{"kernel", line.kernel},
                                     {"product", line.shape},
                                     {"calls", line.calls},
                                     {"seconds", line.seconds},
                                     {"floor_seconds", line.floor}});
    }
    std::ofstream(shape.result) << result.dump(2) << '\n';
}

// `predicted` and `grown` are bytes: the predicted memory, and the growth of the peak memory of the process.
void report(const Shape& shape, const MeasuredSteps& measured, const std::vector<Line>& lines,
            std::size_t predicted, std::size_t grown) {
    double floor = 0;
    std::printf("%-24s %-22s %5s %10s %10s %10s\n", "kernel", "matmul", "calls", "ms", "floor ms",
                "floor/time");
    for (const Line& line : lines) {
        print(line);
        floor += line.floor;
    }
    const double tokens_per_second = static_cast<double>(shape.rows()) / measured.step_seconds;
    const double memory_ratio = static_cast<double>(grown) / static_cast<double>(predicted);
    std::printf(
        "step of %zu x %zu tokens: %.1f ms; sum of the floors: %.1f ms, %.1f %% of the step; %.1f tokens/s\n",
        shape.samples, shape.length, 1e3 * measured.step_seconds, 1e3 * floor,
        100 * floor / measured.step_seconds, tokens_per_second);
    std::printf("memory: predicted %.1f MB; the process grew by %.1f MB, %.3f of the prediction\n",
                1e-6 * static_cast<double>(predicted), 1e-6 * static_cast<double>(grown), memory_ratio);
    if (shape.result.empty()) return;
    write_json(shape, lines,
               {{"provenance", shape.provenance},
                {"model", shape.model},
                {"samples", shape.samples},
                {"length", shape.length},
                {"threads", shape.threads},
                {"processor", device::read_processor_name()},
                {"fma_peak_flops", kernels::measure_peak_flops(device::DType::f32, shape.threads)},
                {"step_seconds", measured.step_seconds},
                {"floor_seconds", floor},
                {"share_of_floor", floor / measured.step_seconds},
                {"tokens_per_s", tokens_per_second},
                {"predicted_bytes", predicted},
                {"grown_bytes", grown}});
}

Shape parse(int argc, char** argv) {
    Shape shape;
    shape.provenance = perf::provenance(argc, argv);
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() > 0) shape.model = words[0];
    if (words.size() > 1) shape.samples = std::stoul(words[1]);
    if (words.size() > 2) shape.length = std::stoul(words[2]);
    if (words.size() > 3) shape.repeats = std::stoul(words[3]);
    if (words.size() > 4) shape.threads = std::stoi(words[4]);
    if (words.size() > 5) shape.result = words[5];
    return shape;
}

void run(const Shape& shape) {
    model::ModelConfig model = model::find_named_model(shape.model);
    if (model.vocabulary == 0) model.vocabulary = 257;  // byte tokens and the end-of-text token
    model.dropout = 0;
    model.attention_dropout = 0;
    const std::size_t before = device::read_peak_resident_bytes();
    Step step(shape, model);
    const MeasuredSteps measured = measure_steps(step, shape.repeats);
    const std::size_t grown = device::read_peak_resident_bytes() - before;
    report(shape, measured, compare_with_floors(measured, model.vocabulary), step.predicted_bytes(), grown);
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    trireme::perf::run(trireme::perf::parse(argc, argv));
    return 0;
}
