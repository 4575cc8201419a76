// The output of `profile`, its use in `train` and `plan`, and their messages if it does not fit.
#include <nlohmann/json.hpp>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using nlohmann::json;

using Profile = Workplace;

constexpr const char* measure = "profile --max-length 32 --repeat 2 --threads 1 --output profile.json ";
constexpr const char* sizes = "--layers 1 --width 16 --heads 2 ";  // the model of Workplace::train()

TEST_F(Profile, ReportsWhatItMeasuredAndWhere) {
    const Outcome outcome = run(measure);

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out, "gpt2-tiny in f32, 32 rows in a micro-batch of 1 sample, 1 thread\n"))
        << outcome.out;
    EXPECT_TRUE(has(outcome.out, "the profile is in profile.json\n")) << outcome.out;
    EXPECT_TRUE(has(read("profile.json"), "\"schema\": 1,")) << read("profile.json");
}

TEST_F(Profile, UsesSamplesOfAGivenCorpus) {
    make_corpus();

    const Outcome outcome = run(std::string(measure) + "--corpus corpus.h5 --batch 2 --quiet");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(has(read("profile.json"), "\"samples\": 2,")) << read("profile.json");
}

TEST_F(Profile, MeasuresLinksBetweenRanks) {
    for (std::size_t mpi = 0; mpi < mpi_libraries(); ++mpi) {
        const Outcome outcome = run(measure, 2, mpi);

        EXPECT_EQ(outcome.code, 0) << outcome.err;
        const json profile = json::parse(read("profile.json"));
        ASSERT_EQ(profile.at("links").size(), 1U);
        EXPECT_GE(profile.at("links").at(0).at("latency").get<double>(), 0);
        EXPECT_GT(profile.at("links").at(0).at("bandwidth").get<double>(), 0);
        EXPECT_TRUE(has(outcome.out, "link among all ranks: ")) << outcome.out;
        EXPECT_EQ(outcome.out.find("the profile is"), outcome.out.rfind("the profile is")) << outcome.out;
    }
    EXPECT_EQ(run(measure).code, 0);
    EXPECT_FALSE(json::parse(read("profile.json")).contains("links"));
}

// The simulator's links are known: see ranks/cluster.xml.
TEST_F(Profile, MeasuresTheKnownLinksOfTheSimulator) {
    if (programs() == mpi_libraries()) GTEST_SKIP() << "built without SimGrid";

    const Outcome outcome = run(measure, 4, mpi_libraries());

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const json links = json::parse(read("profile.json")).at("links");
    ASSERT_EQ(links.size(), 1U);
    EXPECT_NEAR(links.at(0).at("latency").get<double>(), 4e-6, 4e-8);
    EXPECT_NEAR(links.at(0).at("bandwidth").get<double>(), 1e10, 1e8);
}

TEST_F(Profile, PartitionsAModelForPlanAndTrain) {
    make_corpus();
    ASSERT_EQ(run(std::string(measure) + sizes).code, 0);

    const Outcome plan = run(std::string("plan --pipe 3 ") + sizes +
                             "--partition measured --profile profile.json --microbatches 4");
    const Outcome trained = train("--pipe 2 --partition measured --profile profile.json --microbatches 2", 2);

    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_TRUE(has(plan.out, "costs       measured with 32 rows")) << plan.out;
    EXPECT_EQ(trained.code, 0) << trained.err;
}

TEST_F(Profile, PredictsTheSameTimeAndMemoryInAPlanAndInARun) {
    make_corpus();
    ASSERT_EQ(run(std::string(measure) + sizes).code, 0);
    const std::string options = "--pipe 2 --microbatches 2 --length balanced --profile profile.json ";

    const Outcome plan = run("plan --format json --corpus corpus.h5 --steps 2 --batch 4 " + options + sizes);
    const Outcome trained = train("--run-dir trained " + options, 2);

    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_EQ(trained.code, 0) << trained.err;
    const json planned_steps = json::parse(plan.out).at("steps");
    ASSERT_EQ(planned_steps.size(), 2U);
    std::istringstream steps(read("trained/steps.jsonl"));
    for (const json& planned : planned_steps) {
        std::string line;
        ASSERT_TRUE(std::getline(steps, line));
        EXPECT_DOUBLE_EQ(json::parse(line).at("predicted_s"), planned.at("seconds")) << line;
        EXPECT_EQ(json::parse(line).at("predicted_bytes"), planned.at("bytes")) << line;
    }
}

TEST_F(Profile, GivesAPipedreamPlanThatIsAlsoALayoutFile) {
    make_corpus();
    ASSERT_EQ(run(std::string(measure) + sizes).code, 0);
    const std::string plan = std::string("plan --format json --profile profile.json --microbatches 4 ") + sizes;
    const std::string options = "--partition pipedream --profile profile.json --microbatches 4";
    ASSERT_EQ(run(plan + "--partition pipedream --ranks 3 --output plan.json").code, 0);

    const Outcome again = run(plan + "--layout plan.json");
    const Outcome trained = train(options, 3);

    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.out, read("plan.json"));
    EXPECT_EQ(trained.code, 0) << trained.err;
}

// Returns the layers of each stage from the manifest of a run.
json stages_of(const std::string& manifest) {
    const json layout = json::parse(manifest).at("layout");
    json layers = json::array();
    for (const json& stage : layout.at("stages")) layers.push_back(stage.at("layers"));
    return layers;
}

class DifferentProfiles : public Profile {
protected:
    void SetUp() override {
        make_corpus();
        ASSERT_EQ(run(std::string(measure) + sizes).code, 0);
        write("slow.json", with("machine", "slide rule", 1000));
    }

    // Returns profile.json with another value of `key`, and with the seconds of all layers multiplied by
    // `times`.
    std::string with(const char* key, const std::string& value, double times = 1) const {
        json profile = json::parse(read("profile.json"));
        profile[key] = value;
        for (json& layer : profile.at("layers")) {
            for (json& seconds : layer.at("seconds")) seconds = times * seconds.get<double>();
        }
        return profile.dump();
    }

    // Trains on two ranks and returns the layers of each stage.
    json stages_by(const std::string& profile) const {
        const std::string folder = "run-" + std::to_string(content().size());
        const Outcome outcome = train(
            "--pipe 2 --microbatches 2 --partition measured --run-dir " + folder + " --profile " + profile, 2);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return stages_of(read(folder + "/manifest.json"));
    }
};

TEST_F(DifferentProfiles, GiveSlowRanksFewerLayers) {
    const json equal_devices = stages_by("profile.json");
    const json slow_last = stages_by("0=profile.json,1=slow.json");
    const json slow_first = stages_by("0=slow.json,1=profile.json");

    EXPECT_EQ(slow_last, (json{{0, 4}, {4, 5}}));
    EXPECT_EQ(slow_first, (json{{0, 1}, {1, 5}}));
    EXPECT_NE(equal_devices, slow_last);
}

// Both ranks run on this machine, so the profile of this machine is used for both.
TEST_F(DifferentProfiles, AreMatchedToRanksByDeviceName) {
    EXPECT_EQ(stages_by("slow.json,profile.json"), stages_by("profile.json"));
    EXPECT_EQ(stages_by("slow.json,profile.json,1=slow.json"), (json{{0, 4}, {4, 5}}));
}

TEST_F(DifferentProfiles, CanBeAssignedToRanksInAPlan) {
    const std::string plan = std::string("plan --pipe 2 --microbatches 4 --partition measured ") + sizes;

    const Outcome outcome = run(plan + "--profile profile.json,1=slow.json");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out, "stage 1: layer 2.5, rank 1\n")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, " (rank 0) and 1 thread of slide rule (rank 1)")) << outcome.out;
    expect_refusal(plan + "--profile profile.json,slow.json",
                   {"--profile names 2 files without ranks", "does not know the devices", "0-3=profile.json"});
}

TEST_F(DifferentProfiles, AreRejectedIfTheyDoNotFit) {
    const std::string measured = "--pipe 2 --microbatches 2 --partition measured --profile ";
    const std::string device = json::parse(read("profile.json")).at("machine");
    write("pencil.json", with("machine", "pencil"));
    json longer = json::parse(read("slow.json"));
    longer["micro_batch"]["tokens"] = 64;
    write("longer.json", longer.dump());

    expect_train_refusal(measured + "slow.json,pencil.json",
                         {"no file for the device of ranks 0,1, '" + device + "'",
                          "the given files are for 'pencil' and 'slide rule'", "or 0-1=FILE"},
                         2);
    expect_train_refusal(measured + "slow.json,profile.json,slow.json",
                         {"slow.json and slow.json, and both were measured on 'slide rule'"}, 2);
    expect_train_refusal(measured + "0=profile.json,0-1=slow.json", {"names rank 0 twice"}, 2);
    expect_train_refusal(measured + "0=profile.json", {"no file for rank 1; add 1=FILE"}, 2);
    expect_train_refusal(measured + "0=profile.json,1-2=slow.json", {"names rank 2, but the job has 2 ranks"},
                         2);
    expect_train_refusal(measured + "profile.json,none.json", {"--profile none.json cannot be read"}, 2);
    expect_train_refusal(
        measured + "0=profile.json,1=longer.json",
        {"longer.json was measured with 64 rows in a micro-batch of 1 sample, but profile.json with 32"}, 2);
    expect_refusal("plan --profile profile.json,", {"--profile expects files such as fast.json,slow.json"});
}

TEST_F(Profile, RejectsInvalidOptions) {
    expect_refusal("profile", {"no output is given; name one with --output FILE.json"});
    expect_refusal("profile --output none/p.json", {"none", "does not exist", "mkdir -p"});
    expect_refusal("profile --output none/p.json", {"none", "does not exist", "mkdir -p"}, 2);
    expect_refusal("profile --output p.json --model gpt3", {"gpt3"}, 2);
    expect_refusal("profile --output p.json --repeat 0", {"--repeat", "at least 1"});
    expect_refusal("profile --output p.json --pipe 2", {"unknown option --pipe"});
    expect_refusal("profile --output p.json --model gpt3", {"gpt3"});
    expect_refusal("profile --output p.json --max-length 999", {"--max-length 999", "256 positions"});
    expect_refusal("profile --output p.json --corpus none.h5", {"none.h5"});
    expect_refusal("profile p.json",
                   {"profile takes options only, but 'p.json' is neither an option nor the value of one"});
}

TEST_F(Profile, IsRequestedByPartitionsThatNeedIt) {
    expect_refusal("plan --pipe 2 --partition measured",
                   {"--partition measured needs the measured cost of each layer",
                    "`trireme profile --model gpt2-tiny --output profile.json`", "--profile profile.json"});
    expect_refusal("plan --partition pipedream", {"--partition pipedream", "--ranks N"});
    expect_refusal("plan --partition pipedream --ranks 2", {"needs the measured cost of each layer"});
    expect_refusal("plan --partition mesured", {"--partition takes", "did you mean measured?"});
}

TEST_F(Profile, IsRejectedIfInvalidOrOfADifferentModel) {
    ASSERT_EQ(run(measure).code, 0);
    write("text.json", "hello");
    write("old.json", R"({"schema": 0})");

    expect_refusal("plan --model gpt2 --profile profile.json",
                   {"profile.json", "11 layers, gpt2-tiny", "gpt2 has 27"});
    expect_refusal("plan --width 64 --profile profile.json", {"profile.json is of another model", "layer 0"});
    expect_refusal("plan --dtype f64 --profile profile.json", {"measured in f32", "--dtype f64"});
    expect_refusal("plan --profile none.json", {"--profile none.json cannot be read"});
    expect_refusal("plan --profile text.json", {"text.json", "not valid JSON"});
    expect_refusal("plan --profile old.json", {"old.json: schema is 0", "measure the profile again"});
    make_corpus();
    expect_train_refusal("--profile profile.json",
                         {"profile.json is of a model of 11 layers", "gpt2-tiny has 5"});
    expect_refusal("plan --pipe 2 --partition measured --profile profile.json --memory-limit 1MB",
                   {"within 1000000 bytes", "--memory-limit: the best cut needs", "raise the limit"});
}

}  // namespace
}  // namespace trireme::messages
