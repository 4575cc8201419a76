// Measures the overhead of the engine: two ranks with one stage each execute programs whose instructions
// compute nothing and whose messages are one number. The limit is the time of one number sent back and forth
// between the same ranks. Measures in turn the engine without and with the measurement of the times of passes.
//
//   mpiexec -n 2 perf_engine_openmpi [MICRO_BATCHES [REPEATS [RESULT.json]]]
//
// Defaults: 256 micro-batches, 51 repeats, no file.
#include "trireme/pipeline/engine.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "provenance.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"

namespace trireme::perf {
namespace {

constexpr int ranks = 2;
const std::vector<int> both_ranks{0, 1};

struct Size {
    int microbatches = 256;
    int repeats = 51;
    std::string result;  // path of the JSON file; empty if none is written
};

// A worker without computation; every message has one row of one value.
class IdleWorker final : public pipeline::StageWorker {
public:
    std::size_t count_rows(int) const override { return 1; }
    device::Tensor provide_receive_buffer(const schedule::Instruction&) override {
        return {&received_, device::DType::f32, 1, 1, 1};
    }
    device::ConstTensor find_send_buffer(const schedule::Instruction&) override {
        return {&sent_, device::DType::f32, 1, 1, 1};
    }
    void finish_send(const schedule::Instruction&) override {}
    void set_clock(int) override {}
    void run(const schedule::Instruction&) override {}
    bool validate_update(const schedule::Instruction&) override { return true; }
    void discard_forward(const schedule::Instruction&) override {}

private:
    float received_ = 0;
    float sent_ = 0;
};

struct Programs {
    schedule::PipelineShape shape;
    std::vector<schedule::Program> all;  // per rank
};

// Returns the programs of the schedule with the fewest slots (buffers at each end of a channel between stages)
// for which verify_programs() finds no fault.
Programs prove(const schedule::Schedule& schedule, int microbatches) {
    Programs programs{schedule::make_grid_shape(ranks, 1, 1, microbatches), {}};
    for (; programs.shape.slots <= 4; ++programs.shape.slots) {
        programs.all = lower(generate(schedule, programs.shape), programs.shape);
        if (verify_programs(programs.all, programs.shape).is_proved()) return programs;
    }
    throw BugError(cat("schedule ", schedule.name, " needs more than 4 slots for 2 stages"));
}

struct Timing {
    double median_us = 0;
    double min_us = 0;
};

// Collective over `group`. Calls `act` on both ranks `repeats` times, after some unmeasured warm-up calls.
// The time of a call is that of the slower rank, divided by `parts`: the number of instructions or messages in
// a call. Returns the median and the minimum.
template <class Act>
Timing measure(comm::Communicator& group, int repeats, std::size_t parts, Act&& act) {
    std::vector<double> times;
    for (int r = -repeats / 5; r < repeats; ++r) {
        barrier(group);
        const double begin = device::now_seconds();
        act();
        const std::vector<double> seconds = all_gather(group, std::array{device::now_seconds() - begin});
        if (r >= 0) times.push_back(1e6 * std::max(seconds[0], seconds[1]) / static_cast<double>(parts));
    }
    std::sort(times.begin(), times.end());
    return {.median_us = times[times.size() / 2], .min_us = times.front()};
}

// The time of an instruction, without and with the measurement of the times of passes.
struct EngineTimings {
    Timing plain = {}, measuring = {};
};

// Returns the timing with the median of the medians, and the smallest of the minima.
Timing combine(std::vector<Timing> timings) {
    const double least = std::ranges::min(timings, {}, &Timing::min_us).min_us;
    std::ranges::sort(timings, {}, &Timing::median_us);
    return {.median_us = timings[timings.size() / 2].median_us, .min_us = least};
}

EngineTimings measure_schedule(const comm::Session& session, comm::Communicator& control,
                               const Programs& programs, int repeats) {
    const std::vector<layout::Team> teams{{{0}, {0}}, {{1}, {1}}};
    const auto activations = session.make_group(both_ranks, "activations", {});
    const auto gradients = session.make_group(both_ranks, "gradients", {});
    pipeline::Engine engine({.rank = session.rank(),
                             .teams = teams,
                             .shape = programs.shape,
                             .activations = *activations,
                             .gradients = *gradients,
                             .group_ranks = both_ranks});
    IdleWorker worker;
    const schedule::Program& own = programs.all[static_cast<std::size_t>(session.rank())];
    constexpr int turns = 5;
    std::vector<Timing> plain, measuring;
    for (int turn = 0; turn < turns; ++turn) {
        for (std::vector<Timing>* const timings : {&plain, &measuring}) {
            engine.measure_passes(timings == &measuring);
            timings->push_back(measure(control, std::max(1, repeats / turns), own.size(),
                                       [&] { engine.execute(own, worker); }));
        }
    }
    return {.plain = combine(plain), .measuring = combine(measuring)};
}

// Sends one number back and forth. Returns the time per message.
Timing measure_message(const comm::Session& session, comm::Communicator& control, const Size& size) {
    const auto group = session.make_group(both_ranks, "messages", {});
    const int peer = 1 - session.rank();
    float number = 0;
    const device::Tensor tensor{&number, device::DType::f32, 1, 1, 1};
    const auto send = [&] { group->wait(std::array{group->start_send(tensor, peer)}); };
    const auto receive = [&] { group->wait(std::array{group->start_receive(tensor, peer)}); };
    return measure(control, size.repeats, 2 * static_cast<std::size_t>(size.microbatches), [&] {
        for (int m = 0; m < size.microbatches; ++m) {
            session.rank() == 0 ? send() : receive();
            session.rank() == 0 ? receive() : send();
        }
    });
}

Size parse(int argc, char** argv) {
    Size size;
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() > 0) size.microbatches = std::stoi(words[0]);
    if (words.size() > 1) size.repeats = std::stoi(words[1]);
    if (words.size() > 2) size.result = words[2];
    return size;
}

nlohmann::ordered_json to_json(const Timing& timing) {
    return {{"median_us", timing.median_us}, {"least_us", timing.min_us}};
}

void print(const char* name, const char* unit, const Timing& timing) {
    std::printf("%-12s median %6.2f us, minimum %6.2f us per %s\n", name, timing.median_us, timing.min_us,
                unit);
}

void run(const Size& size, const comm::Session& session, const nlohmann::ordered_json& origin) {
    if (session.size() != ranks)
        throw ConfigError(cat("this benchmark needs 2 ranks, but the job has ", session.size(),
                              "; start it with mpiexec -n 2"));
    const auto control = session.make_group_of_all_ranks("control", {});
    const Timing message = measure_message(session, *control, size);
    nlohmann::ordered_json result{{"provenance", origin},
                                  {"mpi_library", session.library()},
                                  {"processor", device::read_processor_name()},
                                  {"micro_batches", size.microbatches},
                                  {"repeats", size.repeats},
                                  {"message", to_json(message)}};
    if (session.rank() == 0) print("ping-pong", "message", message);
    for (const char* const schedule : {"1f1b", "gpipe"}) {
        const Programs programs = prove(schedule::require_schedule(schedule), size.microbatches);
        const EngineTimings timings = measure_schedule(session, *control, programs, size.repeats);
        const std::size_t instructions = programs.all.front().size();
        const auto passes = static_cast<double>(std::ranges::count_if(
            programs.all.front(), [](const schedule::Instruction& each) { return is_compute(each.op); }));
        const double added_us = (timings.measuring.median_us - timings.plain.median_us) *
                                static_cast<double>(instructions) / passes;
        if (session.rank() == 0) {
            print(schedule, "instruction", timings.plain);
            std::printf("%-12s adds  %6.3f us per pass\n", "measuring", added_us);
        }
        nlohmann::ordered_json& entry = result["instruction"][schedule] = to_json(timings.plain);
        entry["measuring_a_pass_adds_us"] = added_us;
        entry["slots"] = programs.shape.slots;
        entry["instructions"] = instructions;
    }
    if (session.rank() == 0 && !size.result.empty()) std::ofstream(size.result) << result.dump(2) << '\n';
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    trireme::comm::Session session(argc, argv);
    trireme::perf::run(trireme::perf::parse(argc, argv), session, trireme::perf::provenance(argc, argv));
    return 0;
}
