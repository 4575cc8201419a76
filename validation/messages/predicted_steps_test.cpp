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

    json planned(const std::string& options) const {
        const Outcome outcome = run("plan --format json " + options);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return json::parse(outcome.out);
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

// Steps of a corpus whose samples have 2 to 400 tokens, on GPUs of a described cluster.
class PlansOnClusters : public PredictedSteps {
protected:
    void SetUp() override {
        PredictedSteps::SetUp();
        if (IsSkipped()) return;
        const Outcome outcome = run("prepare --synthetic csn --count 200 --quiet --output rows.h5");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
    }

    // Compares the seconds of each step in the plan, and the joules of the first one if the devices have watts,
    // with those of a simulated run with the same options.
    void expect_agreement(const std::string& cluster, int ranks, const std::string& options, double tolerance,
                          const std::string& charge = "auto") {
        SCOPED_TRACE(options);
        const std::string all =
            "--cluster " + cluster +
            " --corpus rows.h5 --model gpt2 --layers 4 --vocabulary 257 --max-length 400 --steps 3 " + options;
        const json plan = planned(all);
        const std::string folder = "agreement-" + std::to_string(runs_++);
        const Outcome outcome = run("simulate --math off --quiet --ranks " + std::to_string(ranks) +
                                    " --charge " + charge + " --run-dir " + folder + " " + all);
        ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        EXPECT_EQ(plan.at("prediction").at("unit"), "s");
        ASSERT_EQ(plan.at("steps").size(), 3U);
        for (std::size_t step = 0; step < 3; ++step) {
            const double simulated = steps(folder).at(step).at("seconds");
            EXPECT_NEAR(plan.at("steps").at(step).at("seconds").get<double>(), simulated, tolerance * simulated)
                << "step " << step + 1;
        }
        if (!plan.at("prediction").contains("energy_j") || options.find("zb") != std::string::npos) return;
        const double simulated_joules = steps(folder).at(0).at("energy_j");
        EXPECT_NEAR(plan.at("prediction").at("energy_j").get<double>(), simulated_joules,
                    tolerance * simulated_joules);
    }

    // Writes the schedule of the options to `file`, with a CLOCK before each pass. `find_clocks(team)` returns
    // the clocks of the devices of a team, of which a fixed sequence of draws chooses.
    template <class FindClocks>
    void write_clocked_schedule(const std::string& file, const std::string& options,
                                const FindClocks& find_clocks) const {
        const Outcome outcome = run("plan --format csv " + options);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        std::istringstream lines(outcome.out);
        std::string text;
        std::size_t draw = 0;
        std::size_t team = 0;
        for (std::string line; std::getline(lines, line); ++team) {
            std::istringstream cells(line);
            const json clocks = find_clocks(team);
            for (std::string cell; std::getline(cells, cell, ',');) {
                draw = (draw * 1103515245 + 12345) % 2147483648;
                const bool is_pass = cell.find_first_of("FBIW") != std::string::npos &&
                                     cell.find_first_not_of("0123456789FBIW") == std::string::npos;
                if (is_pass) text += "CLOCK" + clocks.at(draw / 65536 % clocks.size()).at("mhz").dump() + ",";
                text += cell + ",";
            }
            text.back() = '\n';
        }
        write(file, text);
    }

    int runs_ = 0;
};

// Each team sets another clock before each of its passes.
TEST_F(PlansOnClusters, AgreeWithSimulatedClocks) {
    const std::string cluster = TRIREME_SOURCE_DIR "/perf/clusters/a100-8-v100-2x8.json";
    const json groups = json::parse(read(cluster)).at("groups");
    const auto find_clocks_of_rank = [&](std::size_t rank) {
        return groups.at(rank < 8 ? 0 : 1).at("device").at("clocks");
    };
    const std::string costs =
        "--cluster " + cluster + " --model gpt2 --layers 4 --vocabulary 257 --max-length 400 ";
    const std::string grid = "--pipe 4 --data 4 --microbatches 4 --batch 64";
    for (const std::string schedule : {"1f1b", "zb-h1"}) {
        write_clocked_schedule(schedule + ".csv", costs + grid + " --schedule " + schedule,
                               [&](std::size_t team) {
                                   return find_clocks_of_rank(team % 4 * 4 + team / 4);  // team: replica, stage
                               });
        for (const std::string charge : {"kernels", "passes"})
            expect_agreement(cluster, 16, grid + " --network free --schedule " + schedule + ".csv", 0.01,
                             charge);
    }
    expect_agreement(cluster, 16, grid + " --network free --energy uniform", 0.01);
    const std::string teams = "--pipe 2 --tensor 2 --microbatches 4 --batch 16";
    write_clocked_schedule("teams.csv", costs + teams,
                           [&](std::size_t team) { return find_clocks_of_rank(2 * team); });
    expect_agreement(cluster, 4, teams + " --schedule teams.csv", 0.05);
}

TEST_F(PlansOnClusters, AgreeWithSimulatedStepsWithoutNetwork) {
    const std::string cluster = TRIREME_SOURCE_DIR "/perf/clusters/v100-2x8.json";
    for (const std::string schedule : {"1f1b", "gpipe", "zb-h1"}) {
        for (const std::string length : {"pad", "balanced"}) {
            const std::string options = "--network free --schedule " + schedule + " --length " + length;
            expect_agreement(cluster, 4, options + " --pipe 4 --microbatches 4 --batch 16", 0.01);
            expect_agreement(cluster, 16, options + " --pipe 4 --data 4 --microbatches 4 --batch 64", 0.01);
        }
    }
    expect_agreement(cluster, 4,
                     "--network free --pipe 2 --tensor 2 --recompute full --microbatches 4 --batch 16", 0.01);
}

// The ranks of the first node have faster GPUs than the others.
TEST_F(PlansOnClusters, AgreeWithComparisonsOnMixedDevices) {
    const std::string options = "--cluster " TRIREME_SOURCE_DIR
                                "/perf/clusters/a100-8-v100-2x8.json --model gpt2 "
                                "--pipe 2 --data 12 --microbatches 2 --batch 24 ";

    const json compared = planned(options + "--compare 1f1b").at(0);

    EXPECT_EQ(compared.at("unit"), "s");
    EXPECT_EQ(compared.at("seconds"), planned(options + "--schedule 1f1b").at("prediction").at("seconds"));
}

// Head and embedding are priced tile by tile and table by table, for vocabularies of any size.
TEST_F(PlansOnClusters, AcceptLargeVocabularies) {
    const auto seconds = [&](const char* vocabulary) {
        return planned("--cluster " TRIREME_SOURCE_DIR
                       "/perf/clusters/v100-x8.json --model gpt2 --batch 1 --vocabulary " +
                       std::string(vocabulary))
            .at("prediction")
            .at("seconds")
            .get<double>();
    };
    EXPECT_GT(seconds("1300000"), 1.9 * seconds("600000"));
}

TEST_F(PlansOnClusters, AgreeWithSimulatedStepsOnDescribedNetworks) {
    const std::string node = TRIREME_SOURCE_DIR "/perf/clusters/v100-x8.json";
    const std::string pcie = TRIREME_SOURCE_DIR "/perf/clusters/rtx3090-x4.json";
    for (const std::string schedule : {"1f1b", "gpipe", "zb-h1"}) {
        const std::string options = "--length pad --schedule " + schedule;
        expect_agreement(node, 8, options + " --pipe 4 --data 2 --microbatches 4 --batch 64", 0.05);
        expect_agreement(pcie, 4, options + " --pipe 2 --data 2 --microbatches 4 --batch 32", 0.05);
    }
    expect_agreement(pcie, 4, "--data 4 --microbatches 2 --batch 32", 0.05);
    expect_agreement(pcie, 4, "--pipe 2 --tensor 2 --microbatches 4 --batch 32", 0.05);
}

}  // namespace
}  // namespace trireme::messages
