enum class ExchangePacket {
  collect = 1,  ///< Collect
  forgotten_packet = 2
};
