#include "trireme/rank/tracing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "trireme/archive/partial_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme::rank {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int writer = 0;     // rank that writes the file
constexpr int readings = 16;  // readings of a clock, of which the fastest counts

std::string dump_json(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

device::Tensor number_at(double& number) { return {&number, device::DType::f64, 1, 1, 1}; }

void send(comm::Communicator& group, device::Tensor tensor, int peer) {
    group.wait(std::array{group.start_send(tensor, peer)});
}
void receive(comm::Communicator& group, device::Tensor tensor, int peer) {
    group.wait(std::array{group.start_receive(tensor, peer)});
}

// Rank 0 answers the requests for its time, one rank after the other.
void tell_time(comm::Communicator& control, const std::function<double()>& now) {
    for (int peer = 1; peer < control.size(); ++peer) {
        for (int r = 0; r < readings; ++r) {
            double time = 0;
            receive(control, number_at(time), peer);
            time = now();
            send(control, number_at(time), peer);
        }
    }
}

ClockReading ask_time(comm::Communicator& control, const std::function<double()>& now) {
    ClockReading best{.round_trip = std::numeric_limits<double>::infinity()};
    for (int r = 0; r < readings; ++r) {
        double time = 0;
        const double begin = now();
        send(control, number_at(time), writer);
        receive(control, number_at(time), writer);
        const double end = now();
        if (end - begin >= best.round_trip) continue;
        best = {.at = end, .ahead = (begin + end) / 2 - time, .round_trip = end - begin};
    }
    return best;
}

// Texts travel as numbers of four bytes, after their length.
std::vector<std::int32_t> letters_for(std::size_t bytes) {
    return std::vector<std::int32_t>(std::max<std::size_t>(1, (bytes + 3) / 4));
}
device::Tensor tensor_of(std::vector<std::int32_t>& letters) {
    return {letters.data(), device::DType::i32, 1, letters.size(), letters.size()};
}

void send_text(comm::Communicator& control, const std::string& text) {
    auto bytes = static_cast<double>(text.size());
    std::vector<std::int32_t> letters = letters_for(text.size());
    std::memcpy(letters.data(), text.data(), text.size());
    send(control, number_at(bytes), writer);
    send(control, tensor_of(letters), writer);
}

std::string receive_text(comm::Communicator& control, int peer) {
    double bytes = 0;
    receive(control, number_at(bytes), peer);
    std::vector<std::int32_t> letters = letters_for(static_cast<std::size_t>(bytes));
    receive(control, tensor_of(letters), peer);
    return {reinterpret_cast<const char*>(letters.data()), static_cast<std::size_t>(bytes)};
}

std::string name_event(const char* what, int rank, int lane, const Json& arguments) {
    return dump_json({{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", lane}, {"args", arguments}});
}

// Returns the instruction that an event shows, such as "2F0"; empty for "wait for 2RECV_F0", and for "STEP2",
// which has no micro-batch.
std::optional<schedule::Instruction> instruction_of(const device::TraceEvent& event) {
    if (event.microbatch < 0 || event.name.find(' ') != std::string::npos) return std::nullopt;
    return schedule::parse_instruction(event.name, "a traced event");
}

// Returns a name of Chrome's palette. Perfetto chooses colours by the event's name without its digits, which
// also distinguishes the kinds of passes.
const char* colour_of(const device::TraceEvent& event) {
    if (event.name.rfind("wait", 0) == 0) return "grey";
    const std::optional<schedule::Instruction> instruction = instruction_of(event);
    if (!instruction) return "generic_work";
    switch (instruction->op) {
        case schedule::Op::forward:
            return "thread_state_running";
        case schedule::Op::backward:
        case schedule::Op::backward_input:
            return "rail_response";
        case schedule::Op::backward_weight:
            return "rail_animation";
        case schedule::Op::send_forward:
        case schedule::Op::receive_forward:
        case schedule::Op::send_backward:
        case schedule::Op::receive_backward:
        case schedule::Op::reduce:
        case schedule::Op::step:
        case schedule::Op::validate:
            return "generic_work";
    }
    throw BugError("an instruction without a colour");
}

std::string json_of(const device::TraceEvent& event, int rank, const ClockLine& line) {
    constexpr double micro = 1e6;
    std::string arguments = fmt::format("\"step\":{}", event.step);
    if (event.stage >= 0) arguments += fmt::format(",\"stage\":{}", event.stage);
    if (event.microbatch >= 0) arguments += fmt::format(",\"microbatch\":{}", event.microbatch);
    if (event.bytes > 0) arguments += fmt::format(",\"bytes\":{}", event.bytes);
    return fmt::format(
        "{{\"name\":\"{}\",\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":{},\"tid\":{},"
        "\"cname\":\"{}\",\"args\":{{{}}}}}",
        event.name, name_of(event.lane), micro * line(event.begin),
        micro * (line(event.end) - line(event.begin)), rank, static_cast<int>(event.lane), colour_of(event),
        arguments);
}

std::string json_of(const device::TraceMemory& memory, int rank, const ClockLine& line) {
    return fmt::format(R"({{"name":"memory","ph":"C","ts":{:.3f},"pid":{},"args":{{"MB":{:.1f}}}}})",
                       1e6 * line(memory.at), rank, 1e-6 * static_cast<double>(memory.bytes));
}

// A message between two adjacent stages, identified by the lower one.
struct Crossing {
    std::size_t step = 0;
    int microbatch = 0, lower_stage = 0;
    bool is_forward = true;

    friend auto operator<=>(const Crossing&, const Crossing&) = default;
};

// Returns the message that an instruction sends, receives or reads; empty if its kind has none. A pass that
// reads the corpus or the loss gets the number of a message that no rank sends.
std::optional<Crossing> crossing_of(const device::TraceEvent& event, const schedule::Instruction& instruction) {
    const auto at = [&](int lower_stage, bool is_forward) {
        return Crossing{event.step, event.microbatch, lower_stage, is_forward};
    };
    switch (instruction.op) {
        case schedule::Op::send_forward:
            return at(instruction.stage, true);
        case schedule::Op::forward:
        case schedule::Op::receive_forward:
            return at(instruction.stage - 1, true);
        case schedule::Op::send_backward:
            return at(instruction.stage - 1, false);
        case schedule::Op::backward:
        case schedule::Op::backward_input:
        case schedule::Op::receive_backward:
            return at(instruction.stage, false);
        case schedule::Op::backward_weight:
        case schedule::Op::reduce:
        case schedule::Op::step:
        case schedule::Op::validate:
            return std::nullopt;
    }
    throw BugError("an instruction of an unknown kind");
}

// Arrows begin at sends and end at the passes that read the message, because receives are posted long before.
std::string arrows_of(const std::vector<device::TraceEvent>& events, int rank, int place,
                      const ClockLine& line) {
    std::set<Crossing> received;
    std::string text;
    for (const device::TraceEvent& event : events) {
        const std::optional<schedule::Instruction> instruction = instruction_of(event);
        if (instruction && is_receive(instruction->op)) received.insert(*crossing_of(event, *instruction));
    }
    for (const device::TraceEvent& event : events) {
        const std::optional<schedule::Instruction> instruction = instruction_of(event);
        const std::optional<Crossing> crossing = instruction ? crossing_of(event, *instruction) : std::nullopt;
        if (!crossing || is_receive(instruction->op)) continue;
        const bool begins = is_send(instruction->op);
        if (!begins && !received.contains(*crossing)) continue;
        const double at = begins ? event.begin : (event.begin + event.end) / 2;
        text += fmt::format(
            ",\n{{\"name\":\"{}\",\"cat\":\"messages\",\"ph\":\"{}\",{}\"id\":\"{}.{}.{}.{}.{}\",\"ts\":{:.3f},"
            "\"pid\":{},\"tid\":{}}}",
            crossing->is_forward ? "activations" : "gradients", begins ? "s" : "f",
            begins ? "" : "\"bp\":\"e\",", crossing->is_forward ? "f" : "b", crossing->step,
            crossing->microbatch, crossing->lower_stage, place, 1e6 * line(at), rank,
            static_cast<int>(event.lane));
    }
    return text;
}

// Returns the facts about a plan that a prediction needs, except the costs of its instructions.
Json json_of(const plan::Plan& plan, std::size_t step) {
    const schedule::PipelineShape& shape = plan.training.shape;
    Json teams = Json::array();
    for (const layout::Team& team : plan.teams) teams.push_back(team.ranks);
    Json json{{"step", step},
              {"plan", hash_of(plan)},
              {"schedule", plan.schedule},
              {"microbatches", shape.microbatches},
              {"teams", teams}};
    if (!plan.training.ends_with_step()) return json;
    json["programs"] = csv_of(plan.training.programs);
    json["holders"] = shape.holders;
    json["executor"] = shape.executor;
    json["slots"] = shape.slots;
    json["ties_ends"] = shape.ties_ends;
    return json;
}

// Compares only what a decision can change.
bool are_alike(const plan::Plan& a, const plan::Plan& b) {
    return a.layout == b.layout && a.schedule == b.schedule && a.microbatches() == b.microbatches();
}

fs::path path_in(const fs::path& folder, std::size_t first_step) {
    const fs::path usual = folder / "trace.json";
    return fs::exists(usual) ? folder / cat("trace-", first_step, ".json") : usual;
}

}  // namespace

void check_traced_steps(device::TracedSteps traced, std::size_t steps) {
    if (traced.last == 0 || traced.first <= steps) return;
    throw ConfigError(cat("--trace ", traced.first, ":", traced.last, " begins after the last of ", steps,
                          " steps; trace earlier ones"));
}

ClockReading read_clock(comm::Communicator& control, const std::function<double()>& now) {
    if (device::time_is_simulated()) return {.at = now()};  // all ranks have one clock
    if (control.rank() != writer) return ask_time(control, now);
    tell_time(control, now);
    return {.at = now()};
}

double ClockLine::operator()(double time) const {
    const double between = last.at > first.at ? (time - first.at) / (last.at - first.at) : 0;
    return time - (first.ahead + between * (last.ahead - first.ahead)) - origin;
}

std::string json_of(const device::Trace& trace, int rank, int place, const std::string& host,
                    const ClockLine& line) {
    std::string text = name_event("process_name", rank, 0,
                                  {{"name", cat("rank ", rank, " (", host, ")")},
                                   {"clock_ahead_s", {line.first.ahead, line.last.ahead}},
                                   {"round_trip_s", {line.first.round_trip, line.last.round_trip}},
                                   {"left_out", trace.left_out()}});
    text += ",\n" + name_event("process_sort_index", rank, 0, {{"sort_index", rank}});
    for (std::size_t lane = 0; lane < device::trace_lanes; ++lane) {
        const auto number = static_cast<int>(lane);
        const char* const name = name_of(static_cast<device::TraceLane>(lane));
        text += ",\n" + name_event("thread_name", rank, number, {{"name", name}});
        text += ",\n" + name_event("thread_sort_index", rank, number, {{"sort_index", number}});
    }
    const std::vector<device::TraceEvent> events = trace.events();
    for (const device::TraceEvent& event : events) text += ",\n" + json_of(event, rank, line);
    for (const device::TraceMemory& memory : trace.memory()) text += ",\n" + json_of(memory, rank, line);
    return text + arrows_of(events, rank, place, line);
}

Tracing::Tracing(device::TracedSteps steps, comm::Communicator& control) : control_(control), trace_(steps) {
    if (steps.last == 0) return;
    first_ = read_clock(control);
    origin_ = gather_all(control, std::array{first_.at}).front();
}

void Tracing::begin_step(std::size_t step, std::size_t in_stretch) {
    trace_.begin_step(step, in_stretch);
    if (!trace_.is_on()) return;
    if (traced_.last == 0) traced_.first = step;
    traced_.last = step;
}

void Tracing::made_with(const plan::Plan& plan) {
    if (!trace_.is_on()) return;
    if (const int team = plan.team_of(control_.rank()); team >= 0) {
        const std::vector<int>& ranks = plan.teams[static_cast<std::size_t>(team)].ranks;
        place_ = static_cast<int>(std::ranges::find(ranks, control_.rank()) - ranks.begin());
    }
    if (control_.rank() != writer) return;
    if (plan_ && are_alike(*plan_, plan)) return;
    plan_ = plan;
    plans_.push_back(dump_json(json_of(plan, trace_.step())));
}

std::string Tracing::head() const {
    std::string plans;
    for (const std::string& plan : plans_) plans += (plans.empty() ? "" : ",\n") + plan;
    return cat("{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"clock\":\"",
               device::time_is_simulated() ? "simulated" : "wall", "\",\"first_step\":", traced_.first,
               ",\"last_step\":", traced_.last, ",\n\"plans\":[", plans, "]},\n\"traceEvents\":[\n");
}

void Tracing::write(const fs::path& folder, const std::string& host) {
    if (traced_.last == 0) return;
    const ClockLine line{.first = first_, .last = read_clock(control_), .origin = origin_};
    const std::string own = json_of(trace_, control_.rank(), place_, host, line);
    if (control_.rank() != writer) return send_text(control_, own);
    archive::PartialFile file(path_in(folder, traced_.first));
    std::ofstream out(file.partial_path(), std::ios::binary);
    out << head() << own;
    for (int peer = 0; peer < control_.size(); ++peer) {
        if (peer != writer) out << ",\n" << receive_text(control_, peer);
    }
    out << "\n]}\n" << std::flush;
    if (!out) throw ResourceError(cat(file.final_path().string(), " could not be written; is the disk full?"));
    file.keep(static_cast<std::uint64_t>(out.tellp()));
}

}  // namespace trireme::rank
