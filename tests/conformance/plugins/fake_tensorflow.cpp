// A library of TensorFlow's name that says its version and has nothing else.
extern "C" __attribute__((visibility("default"))) const char* TF_Version() { return DEEPGAP_FAKE_VERSION; }
