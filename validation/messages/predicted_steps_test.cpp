// Compares the simulated seconds of steps with predictions from the same costs, and with closed formulas.
#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

constexpr int microbatches = 8;
constexpr int all_blocks = 16;  // blocks of the model

// Seconds of a stage's instructions.
struct StageSeconds {
    double forward = 0, input = 0, weight = 0;
    bool has_halves = false;  // backward passes are split into input and weight halves

    double pass() const { return forward + input + weight; }
    std::string text(double send = 0) const {
        std::ostringstream text;
        text.precision(17);
        text << "F=" << forward << ",I=" << input << ",W=" << weight << ",send=" << send;
        return text.str();
    }
};

// Returns the mean seconds of each stage's instructions; whole backward passes count as two equal halves.
// Updates are ignored, because they take little time besides their waits.
std::vector<StageSeconds> seconds_in(const json& trace, int stages) {
    std::map<std::pair<int, char>, std::pair<double, int>> sums;
    for (const json& event : trace.at("traceEvents")) {
        if (event.at("ph") != "X" || event.at("cat") != "compute" || !event.at("args").contains("stage"))
            continue;
        const std::string name = event.at("name");  // "12B3"
        auto& [seconds, count] =
            sums[{event.at("args").at("stage"), name[name.find_first_not_of("0123456789")]}];
        seconds += event.at("dur").get<double>() * 1e-6;
        ++count;
    }
    const auto mean = [&](int stage, char op) {
        const auto& [seconds, count] = sums[{stage, op}];
        return count == 0 ? 0 : seconds / count;
    };
    // A schedule may have both: it splits only backward passes for whose input half another stage waits.
    const auto half = [&](int stage, char op) {
        return sums.contains({stage, op}) ? mean(stage, op) : mean(stage, 'B') / 2;
    };
    std::vector<StageSeconds> all;
    for (int s = 0; s < stages; ++s) {
        all.push_back({.forward = mean(s, 'F'),
                       .input = half(s, 'I'),
                       .weight = half(s, 'W'),
                       .has_halves = sums.contains({s, 'I'})});
    }
    return all;
}

// Returns the mean over the stages. If some stages have halves, only these count, because a whole pass does not
// tell what its halves take.
StageSeconds mean_of(const std::vector<StageSeconds>& stages) {
    const bool has_halves = std::ranges::any_of(stages, &StageSeconds::has_halves);
    StageSeconds sum;
    double count = 0;
    for (const StageSeconds& stage : stages) {
        if (stage.has_halves != has_halves) continue;
        sum.forward += stage.forward;
        sum.input += stage.input;
        sum.weight += stage.weight;
        ++count;
    }
    return {.forward = sum.forward / count, .input = sum.input / count, .weight = sum.weight / count};
}

std::string to_string(const std::vector<StageSeconds>& stages, double send = 0) {
    std::string text;
    for (const StageSeconds& stage : stages) text += (text.empty() ? "" : ";") + stage.text(send);
    return text;
}

struct Pipeline {
    std::string schedule;
    int pipe = 2;
    int chunks = 1;

    int stages() const { return pipe * chunks; }
    std::string options() const {
        const std::string count = std::to_string(microbatches);
        const int blocks = all_blocks / stages();
        std::string cut = std::to_string(1 + blocks);  // with the embedding
        for (int stage = 2; stage < stages(); ++stage) cut += "," + std::to_string(blocks);
        return "--pipe " + std::to_string(pipe) + " --schedule " + schedule +
               (is_v_shaped() ? "" : " --chunks " + std::to_string(chunks)) + " --microbatches " + count +
               " --batch " + count + " --partition " + cut + "," + std::to_string(blocks + 1) + " ";
    }
    bool is_v_shaped() const { return schedule == "zb-v"; }  // has two chunks by definition
};

class PredictedSteps : public Simulate {
protected:
    // Returns the seconds of a step, and sets `seconds_`.
    double simulate(const Pipeline& pipeline, const std::string& model, const std::string& cluster) {
        const std::string folder = "run-" + std::to_string(++runs_);
        const Outcome outcome = run("simulate --math off --steps 2 --trace 2 --length fixed --quiet --ranks " +
                                    std::to_string(pipeline.pipe) + " --cluster " + cluster + " --run-dir " +
                                    folder + " " + pipeline.options() + model);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        seconds_ = seconds_in(json::parse(read(folder + "/trace.json")), pipeline.stages());
        return steps(folder).at(1).at("seconds");
    }

    double predicted(const Pipeline& pipeline, const std::string& model, const std::string& costs) const {
        return planned(pipeline.options() + model + "--cost " + costs).at("prediction").at("seconds");
    }

    // Returns the seconds by the schedule's formula if all stages cost the mean; empty if it has no formula for
    // such costs.
    std::optional<double> by_formula(const Pipeline& pipeline, const std::string& model) const {
        const StageSeconds mean = mean_of(seconds_);
        const json row =
            planned(pipeline.options() + model + "--cost " + mean.text() + " --compare " + pipeline.schedule)
                .at(0);
        if (!row.contains("closed_form_bubble")) return std::nullopt;
        return microbatches * pipeline.chunks * mean.pass() / (1 - row.at("closed_form_bubble").get<double>());
    }

    std::vector<StageSeconds> seconds_;  // of the last run, per stage

private:
    int runs_ = 0;
};

// Only matmuls take time.
json matmul_cluster() {
    json cluster = abacus();
    cluster["devices_per_node"] = 8;
    cluster["nodes"] = 1;
    cluster.erase("between");
    cluster["device"]["bandwidth"] = 1e30;
    cluster["device"]["launch"] = 0;
    cluster["inside"] = {{"latency", 1e-9}, {"bandwidth", 1e15}};
    return cluster;
}

// Covers all schedules whose steps end with an update. Embedding tables of two tokens take almost no time.
class Formulas : public PredictedSteps {
protected:
    void SetUp() override {
        PredictedSteps::SetUp();
        if (!IsSkipped()) write("products.json", matmul_cluster().dump());
    }

    void compare_all(const std::string& block, bool may_halve_backward = true) {
        const std::string model =
            "--model gpt2-tiny --vocabulary 2 --tied off --dropout 0 --layers 16 " + block;
        for (const int pipe : {2, 4, 8}) {
            for (const Pipeline& pipeline :
                 {Pipeline{"inter-layer", pipe}, Pipeline{"gpipe", pipe}, Pipeline{"1f1b", pipe},
                  Pipeline{"interleaved", pipe, 2}, Pipeline{"looped-bfs", pipe, 2}, Pipeline{"zb-h1", pipe},
                  Pipeline{"zb-v", pipe, 2}}) {
                const bool halves_backward = pipeline.schedule.starts_with("zb");
                if (halves_backward && !may_halve_backward) continue;
                SCOPED_TRACE(pipeline.options());
                compare(pipeline, model);
            }
        }
    }

private:
    void compare(const Pipeline& pipeline, const std::string& model) {
        const double seconds = simulate(pipeline, model, "products.json");
        const double prediction = predicted(pipeline, model, to_string(seconds_));
        EXPECT_GT(prediction, 0.01);
        EXPECT_NEAR(seconds, prediction, 0.01 * prediction) << to_string(seconds_);
        const std::optional<double> formula = by_formula(pipeline, model);
        EXPECT_TRUE(formula || pipeline.is_v_shaped());  // its formula assumes equal costs
        if (formula) {
            EXPECT_NEAR(seconds, *formula, 0.01 * *formula) << to_string(seconds_);
        }
    }
};

TEST_F(Formulas, MatchSimulatedStepsIfAllPassesCostTheSame) {
    compare_all("--width 128 --heads 2 --max-length 16 ");
}

// Attention has no weight half.
TEST_F(Formulas, MatchSimulatedStepsDominatedByAttention) {
    compare_all("--width 32 --heads 1 --positions 1024 --max-length 1024 ");
}

TEST_F(Formulas, MatchSimulatedStepsWithFullRecomputation) {
    compare_all("--width 128 --heads 2 --max-length 16 --recompute full ", false);
}

struct Network {
    std::string cluster;
    json link;
    std::string model;
    double message;  // bytes

    double message_seconds() const {
        return link.at("latency").get<double>() + message / link.at("bandwidth").get<double>();
    }
};

// Two networks: one whose messages take a twentieth of a pass, and the links of H100s.
TEST_F(PredictedSteps, MatchSimulatedStepsOnSlowAndFastNetworks) {
    json slow = abacus();
    slow["devices_per_node"] = 8;
    slow["nodes"] = 1;
    slow.erase("between");
    write("slow.json", slow.dump());
    const std::vector<Network> networks{
        {.cluster = "slow.json",
         .link = slow.at("inside"),
         .model = "--model gpt2-tiny --vocabulary 257 --dropout 0 --layers 16 --width 128 --heads 2 "
                  "--max-length 32 ",
         .message = 32 * 128 * sizeof(float)},
        {.cluster = TRIREME_SOURCE_DIR "/perf/clusters/h100-8.json",
         .link = json::parse(read(TRIREME_SOURCE_DIR "/perf/clusters/h100-8.json")).at("inside"),
         .model = "--model gpt2-xl --layers 16 --dropout 0 --tied off ",
         .message = 1024 * 1600 * sizeof(float)}};
    for (const Network& network : networks) {
        for (const int pipe : {2, 4, 8}) {
            for (const char* const schedule : {"gpipe", "1f1b", "zb-h1"}) {
                const Pipeline pipeline{schedule, pipe};
                SCOPED_TRACE(network.cluster + ": " + pipeline.options());
                const double seconds = simulate(pipeline, network.model, network.cluster);

                const std::string costs = to_string(seconds_, network.message_seconds());
                const double prediction = predicted(pipeline, network.model, costs);
                EXPECT_NEAR(seconds, prediction, 0.05 * prediction) << costs;
            }
        }
    }
}

}  // namespace
}  // namespace trireme::messages
