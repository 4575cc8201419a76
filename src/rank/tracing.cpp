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

constexpr int writing_rank = 0;         // rank that writes the file
constexpr int readings_per_clock = 16;  // number of readings of which the best one counts

std::string dump_json(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

device::Tensor make_scalar_view(double& number) { return {&number, device::DType::f64, 1, 1, 1}; }

void send(comm::Communicator& group, device::Tensor tensor, int peer) {
    group.wait(std::array{group.start_send(tensor, peer)});
}
void receive(comm::Communicator& group, device::Tensor tensor, int peer) {
    group.wait(std::array{group.start_receive(tensor, peer)});
}

// Called on rank 0. Answers the other ranks' requests for the time of rank 0, one rank after the other.
void answer_clock_requests(comm::Communicator& control, const std::function<double()>& now) {
    for (int peer = 1; peer < control.size(); ++peer) {
        for (int r = 0; r < readings_per_clock; ++r) {
            double own_time = 0;
            receive(control, make_scalar_view(own_time), peer);
            own_time = now();
            send(control, make_scalar_view(own_time), peer);
        }
    }
}

// Called on every rank except rank 0. Returns the reading with the shortest round trip.
ClockReading ask_time(comm::Communicator& control, const std::function<double()>& now) {
    ClockReading best{.round_trip = std::numeric_limits<double>::infinity()};
    for (int r = 0; r < readings_per_clock; ++r) {
        double time_of_rank_zero = 0;
        const double begin = now();
        send(control, make_scalar_view(time_of_rank_zero), writing_rank);
        receive(control, make_scalar_view(time_of_rank_zero), writing_rank);
        const double end = now();
        if (end - begin >= best.round_trip) continue;
        best = {.at = end, .ahead = (begin + end) / 2 - time_of_rank_zero, .round_trip = end - begin};
    }
    return best;
}

// A text travels as two messages: its length in bytes, then 32-bit integers of four characters each.
std::vector<std::int32_t> make_text_buffer(std::size_t bytes) {
    return std::vector<std::int32_t>(std::max<std::size_t>(1, (bytes + 3) / 4));
}
device::Tensor make_buffer_view(std::vector<std::int32_t>& buffer) {
    return {buffer.data(), device::DType::i32, 1, buffer.size(), buffer.size()};
}

void send_text(comm::Communicator& control, const std::string& text) {
    auto bytes = static_cast<double>(text.size());
    std::vector<std::int32_t> buffer = make_text_buffer(text.size());
    std::memcpy(buffer.data(), text.data(), text.size());
    send(control, make_scalar_view(bytes), writing_rank);
    send(control, make_buffer_view(buffer), writing_rank);
}

std::string receive_text(comm::Communicator& control, int peer) {
    double bytes = 0;
    receive(control, make_scalar_view(bytes), peer);
    std::vector<std::int32_t> buffer = make_text_buffer(static_cast<std::size_t>(bytes));
    receive(control, make_buffer_view(buffer), peer);
    return {reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(bytes)};
}

std::string format_metadata_event(const char* name, int rank, int lane, const Json& arguments) {
    return dump_json({{"name", name}, {"ph", "M"}, {"pid", rank}, {"tid", lane}, {"args", arguments}});
}

// Returns the instruction that an event shows, such as "2F0" (stage 2, forward pass of micro-batch 0). Empty
// for an event with a space in its name, such as "wait for 2RECV_F0", or without a micro-batch, such as
// "STEP2".
std::optional<schedule::Instruction> parse_instruction(const device::TraceEvent& event) {
    if (event.microbatch < 0 || event.name.find(' ') != std::string::npos) return std::nullopt;
    return schedule::parse_instruction(event.name, "a traced event");
}

// Returns a colour name of Chrome's palette. Perfetto ignores this name. Perfetto chooses colours by the
// event's name without digits, and so also distinguishes the kinds of passes.
const char* choose_colour(const device::TraceEvent& event) {
    if (event.name.rfind("wait", 0) == 0) return "grey";
    const std::optional<schedule::Instruction> instruction = parse_instruction(event);
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
        case schedule::Op::set_clock:
            return "generic_work";
    }
    throw BugError("an instruction of an unknown kind");
}

std::string to_json(const device::TraceEvent& event, int rank, const ClockLine& clock_line) {
    constexpr double microseconds_per_second = 1e6;
    std::string arguments = fmt::format("\"step\":{}", event.step);
    if (event.stage >= 0) arguments += fmt::format(",\"stage\":{}", event.stage);
    if (event.microbatch >= 0) arguments += fmt::format(",\"microbatch\":{}", event.microbatch);
    if (event.bytes > 0) arguments += fmt::format(",\"bytes\":{}", event.bytes);
    return fmt::format(
        "{{\"name\":\"{}\",\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":{},\"tid\":{},"
        "\"cname\":\"{}\",\"args\":{{{}}}}}",
        event.name, to_string(event.lane), microseconds_per_second * clock_line(event.begin),
        microseconds_per_second * (clock_line(event.end) - clock_line(event.begin)), rank,
        static_cast<int>(event.lane), choose_colour(event), arguments);
}

std::string to_json(const device::TraceMemorySample& memory, int rank, const ClockLine& clock_line) {
    return fmt::format(R"({{"name":"memory","ph":"C","ts":{:.3f},"pid":{},"args":{{"MB":{:.1f}}}}})",
                       1e6 * clock_line(memory.seconds), rank, 1e-6 * static_cast<double>(memory.bytes));
}

std::string to_json(const device::TraceClockChange& change, int rank, const ClockLine& clock_line) {
    return fmt::format(R"({{"name":"clock_mhz","ph":"C","ts":{:.3f},"pid":{},"args":{{"MHz":{}}}}})",
                       1e6 * clock_line(change.seconds), rank, change.mhz);
}

// A message between two adjacent stages: `lower_stage`, which is closer to the embedding, and the next stage.
struct StageMessage {
    std::size_t step = 0;
    int microbatch = 0, lower_stage = 0;
    bool is_forward = true;  // the message has activations, not gradients

    friend auto operator<=>(const StageMessage&, const StageMessage&) = default;
};

// Returns the message that an instruction sends, receives or reads; empty for kinds of instructions that do
// none of these. A forward pass of the first stage and a backward pass of the last stage read no message. For
// these two passes, the result is a message that no rank sends.
std::optional<StageMessage> find_stage_message(const device::TraceEvent& event,
                                               const schedule::Instruction& instruction) {
    const auto make_message = [&](int lower_stage, bool is_forward) {
        return StageMessage{event.step, event.microbatch, lower_stage, is_forward};
    };
    switch (instruction.op) {
        case schedule::Op::send_forward:
            return make_message(instruction.stage, true);
        case schedule::Op::forward:
        case schedule::Op::receive_forward:
            return make_message(instruction.stage - 1, true);
        case schedule::Op::send_backward:
            return make_message(instruction.stage - 1, false);
        case schedule::Op::backward:
        case schedule::Op::backward_input:
        case schedule::Op::receive_backward:
            return make_message(instruction.stage, false);
        case schedule::Op::backward_weight:
        case schedule::Op::reduce:
        case schedule::Op::step:
        case schedule::Op::validate:
        case schedule::Op::set_clock:
            return std::nullopt;
    }
    throw BugError("an instruction of an unknown kind");
}

// Returns the starts and ends of arrows as JSON objects, each after a comma. An arrow begins at a send and ends
// at the pass that reads the message. It does not end at the receive, which is posted long before the message
// arrives. A pass whose input comes from a stage of the same rank ends no arrow. The id of an arrow contains
// `team_index`, to distinguish the messages of the ranks of a team.
std::string format_message_arrows(const std::vector<device::TraceEvent>& events, int rank, int team_index,
                                  const ClockLine& clock_line) {
    std::set<StageMessage> received_messages;
    std::string text;
    for (const device::TraceEvent& event : events) {
        const std::optional<schedule::Instruction> instruction = parse_instruction(event);
        if (instruction && is_receive(instruction->op))
            received_messages.insert(*find_stage_message(event, *instruction));
    }
    for (const device::TraceEvent& event : events) {
        const std::optional<schedule::Instruction> instruction = parse_instruction(event);
        const std::optional<StageMessage> message =
            instruction ? find_stage_message(event, *instruction) : std::nullopt;
        if (!message || is_receive(instruction->op)) continue;
        const bool is_arrow_start = is_send(instruction->op);
        if (!is_arrow_start && !received_messages.contains(*message)) continue;
        const double time = is_arrow_start ? event.begin : (event.begin + event.end) / 2;
        text += fmt::format(
            ",\n{{\"name\":\"{}\",\"cat\":\"messages\",\"ph\":\"{}\",{}\"id\":\"{}.{}.{}.{}.{}\",\"ts\":{:.3f},"
            "\"pid\":{},\"tid\":{}}}",
            message->is_forward ? "activations" : "gradients", is_arrow_start ? "s" : "f",
            is_arrow_start ? "" : "\"bp\":\"e\",", message->is_forward ? "f" : "b", message->step,
            message->microbatch, message->lower_stage, team_index, 1e6 * clock_line(time), rank,
            static_cast<int>(event.lane));
    }
    return text;
}

// Returns the facts about a plan that a tool needs to predict a step, except the costs of instructions.
// `step` is the first step that is traced under the plan, from 1. The result has no programs if steps overlap,
// because such a step cannot be predicted alone.
Json to_json(const plan::Plan& plan, std::size_t step) {
    const schedule::PipelineShape& shape = plan.training.shape;
    Json teams = Json::array();
    for (const layout::Team& team : plan.teams) teams.push_back(team.ranks);
    Json json{{"step", step},
              {"plan", compute_hash(plan)},
              {"schedule", plan.schedule},
              {"microbatches", shape.microbatches},
              {"teams", teams}};
    if (!plan.training.are_steps_independent()) return json;
    json["programs"] = to_csv(plan.training.programs);
    json["holders"] = shape.holders;
    json["executor"] = shape.executor;
    json["slots"] = shape.slots;
    json["ties_ends"] = shape.has_tied_embeddings;
    return json;
}

// Compares layout, schedule and number of micro-batches. A change of plan cannot change programs in other ways.
bool have_equal_programs(const plan::Plan& a, const plan::Plan& b) {
    return a.layout == b.layout && a.schedule == b.schedule && a.microbatches() == b.microbatches();
}

fs::path choose_trace_path(const fs::path& folder, std::size_t first_step) {
    const fs::path default_path = folder / "trace.json";
    return fs::exists(default_path) ? folder / cat("trace-", first_step, ".json") : default_path;
}

}  // namespace

void check_traced_steps(device::TracedSteps traced, std::size_t steps) {
    if (traced.last == 0 || traced.first <= steps) return;
    throw ConfigError(cat("--trace ", traced.first, ":", traced.last, " begins after the last of ", steps,
                          " steps; trace earlier steps"));
}

ClockReading compare_clocks(comm::Communicator& control, const std::function<double()>& now) {
    if (device::time_is_simulated()) return {.at = now()};  // all ranks share one clock
    if (control.rank() != writing_rank) return ask_time(control, now);
    answer_clock_requests(control, now);
    return {.at = now()};
}

double ClockLine::operator()(double time) const {
    const double fraction = last.at > first.at ? (time - first.at) / (last.at - first.at) : 0;
    return time - (first.ahead + fraction * (last.ahead - first.ahead)) - origin;
}

std::string to_json(const device::Trace& trace, int rank, int team_index, const std::string& host,
                    const ClockLine& clock_line) {
    std::string text =
        format_metadata_event("process_name", rank, 0,
                              {{"name", cat("rank ", rank, " (", host, ")")},
                               {"clock_ahead_s", {clock_line.first.ahead, clock_line.last.ahead}},
                               {"round_trip_s", {clock_line.first.round_trip, clock_line.last.round_trip}},
                               {"left_out", trace.count_dropped()}});
    text += ",\n" + format_metadata_event("process_sort_index", rank, 0, {{"sort_index", rank}});
    for (std::size_t lane = 0; lane < device::trace_lanes; ++lane) {
        const auto lane_id = static_cast<int>(lane);
        const char* const name = to_string(static_cast<device::TraceLane>(lane));
        text += ",\n" + format_metadata_event("thread_name", rank, lane_id, {{"name", name}});
        text += ",\n" + format_metadata_event("thread_sort_index", rank, lane_id, {{"sort_index", lane_id}});
    }
    const std::vector<device::TraceEvent> events = trace.events();
    for (const device::TraceEvent& event : events) text += ",\n" + to_json(event, rank, clock_line);
    for (const device::TraceMemorySample& memory : trace.memory_samples())
        text += ",\n" + to_json(memory, rank, clock_line);
    for (const device::TraceClockChange& change : trace.clock_changes())
        text += ",\n" + to_json(change, rank, clock_line);
    return text + format_message_arrows(events, rank, team_index, clock_line);
}

Tracing::Tracing(device::TracedSteps steps, comm::Communicator& control) : control_(control), trace_(steps) {
    if (steps.last == 0) return;
    first_reading_ = compare_clocks(control);
    origin_time_ = all_gather(control, std::array{first_reading_.at}).front();
}

void Tracing::begin_step(std::size_t step, std::size_t step_in_segment) {
    trace_.begin_step(step, step_in_segment);
    if (!trace_.is_on()) return;
    if (traced_steps_.last == 0) traced_steps_.first = step;
    traced_steps_.last = step;
}

void Tracing::set_plan(const plan::Plan& plan) {
    if (!trace_.is_on()) return;
    if (const int team = plan.find_team(control_.rank()); team >= 0) {
        const std::vector<int>& ranks = plan.teams[static_cast<std::size_t>(team)].ranks;
        team_index_ = static_cast<int>(std::ranges::find(ranks, control_.rank()) - ranks.begin());
    }
    if (control_.rank() != writing_rank) return;
    if (last_plan_ && have_equal_programs(*last_plan_, plan)) return;
    last_plan_ = plan;
    plan_texts_.push_back(dump_json(to_json(plan, trace_.step())));
}

std::string Tracing::format_head() const {
    std::string plans;
    for (const std::string& plan_text : plan_texts_) plans += (plans.empty() ? "" : ",\n") + plan_text;
    return cat("{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"clock\":\"",
               device::time_is_simulated() ? "simulated" : "wall", "\",\"first_step\":", traced_steps_.first,
               ",\"last_step\":", traced_steps_.last, ",\n\"plans\":[", plans, "]},\n\"traceEvents\":[\n");
}

void Tracing::write(const fs::path& folder, const std::string& host) {
    if (traced_steps_.last == 0) return;
    const ClockLine clock_line{
        .first = first_reading_, .last = compare_clocks(control_), .origin = origin_time_};
    const std::string own_events = to_json(trace_, control_.rank(), team_index_, host, clock_line);
    if (control_.rank() != writing_rank) return send_text(control_, own_events);
    archive::PartialFile file(choose_trace_path(folder, traced_steps_.first));
    std::ofstream out(file.partial_path(), std::ios::binary);
    out << format_head() << own_events;
    for (int peer = 0; peer < control_.size(); ++peer) {
        if (peer != writing_rank) out << ",\n" << receive_text(control_, peer);
    }
    out << "\n]}\n" << std::flush;
    if (!out) throw ResourceError(cat(file.final_path().string(), " could not be written; is the disk full?"));
    file.commit(static_cast<std::uint64_t>(out.tellp()));
}

}  // namespace trireme::rank
