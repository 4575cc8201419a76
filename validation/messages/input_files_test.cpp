// Input files that are not regular files, or that nest JSON without limit. Each command must end with a
// sentence: a FIFO without a writer would block it forever, and /dev/zero would fill the memory.
#include <sys/stat.h>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;

class InputFiles : public Workplace {
protected:
    // Makes a FIFO in a separate folder, because some options recognize files by their names.
    std::string fifo(const std::string& name) const {
        fs::create_directories(path("fifos"));
        EXPECT_EQ(::mkfifo(path("fifos/" + name).c_str(), 0600), 0) << name;
        return "fifos/" + name;
    }
};

TEST_F(InputFiles, MayNotBeFifos) {
    make_corpus();
    write("rows.txt", "once upon a time\n");
    const std::string what = " is not a regular file (it is a FIFO); write its contents to a file";
    const std::string json = fifo("some.json");

    expect_refusal("plan --layout " + json, {"--layout " + json + what});
    expect_refusal("plan --profile " + json, {"--profile " + json + what});
    expect_refusal("plan --config " + json, {"--config " + json + what});
    expect_refusal("plan --schedule " + fifo("mine.csv"), {"--schedule fifos/mine.csv" + what});
    expect_refusal("plan --model " + fifo("config.json"), {"fifos/config.json" + what});
    expect_refusal("prepare rows.txt --output out.h5 --tokenizer " + fifo("tokenizer.json"),
                   {"fifos/tokenizer.json" + what});
    expect_refusal("prepare --output out.h5 " + json, {"the input " + json + what});
    expect_train_refusal("--decisions " + json, {"--decisions " + json + what});
    expect_train_refusal("--slow trace=" + json, {"--slow trace " + json + what});
    expect_train_refusal("--init " + fifo("model.safetensors"), {"fifos"});
    expect_refusal("train --steps 1 --corpus " + fifo("corpus.h5"), {"fifos/corpus.h5" + what});
}

TEST_F(InputFiles, MayNotBeDevicesOrFolders) {
    make_corpus();
    const std::string device = "/dev/zero is not a regular file (it is a device); name a file";

    expect_refusal("plan --layout /dev/zero", {"--layout " + device});
    expect_refusal("plan --config /dev/zero", {"--config " + device});
    expect_refusal("plan --profile .", {"--profile . is not a regular file (it is a directory); name a file"});
    expect_refusal("prepare --output out.h5 /dev/zero", {"the input " + device});
    expect_train_refusal("--decisions /dev/zero", {"--decisions " + device});
}

TEST_F(InputFiles, MayBeAPipeOnStandardInput) {
    const std::string prepare = program_path() + " prepare --quiet --output " + path("out.h5").string();

    EXPECT_EQ(std::system(("echo 'once upon a time' | " + prepare + " /dev/stdin").c_str()), 0);

    EXPECT_TRUE(fs::exists(path("out.h5")));
}

TEST_F(InputFiles, MayNotNestJsonTooDeeply) {
    make_corpus();
    constexpr std::size_t levels = 100'000;
    const std::string deep = std::string(levels, '[') + std::string(levels, ']');
    const std::string what = " is nested deeper than 64 levels";
    fs::create_directories(path("model"));
    write("rows.txt", "once upon a time\n");
    write("model/tokenizer.json",
          R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "normalizer": )" + deep + "}");
    write("model/config.json", R"({"architectures": ["GPT2LMHeadModel"], "extra": )" + deep + "}");
    write("deep.json", deep);

    expect_refusal("prepare rows.txt --output out.h5 --tokenizer model/tokenizer.json",
                   {"model/tokenizer.json" + what});
    expect_train_refusal("--model model/config.json", {"model/config.json" + what});
    expect_refusal("plan --layout deep.json", {"deep.json" + what});
    expect_refusal("plan --profile deep.json", {"deep.json" + what});
    expect_train_refusal("--decisions deep.json", {"deep.json, line 1" + what});
}

}  // namespace
}  // namespace trireme::messages
