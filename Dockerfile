# Makes images of the root file systems that `npm run image` has put together; docs/image.md says how. There is nothing to run while building, so that any
# builder can do it, as any user. COMPONENT is controller or gateway.
ARG COMPONENT=gateway

FROM scratch AS common
ARG VERSION=
ARG REVISION=
ARG SOURCE=
LABEL org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/usr/local/bin \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    NODE_USE_SYSTEM_CA=1
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/mcp-gatehouse"]

FROM common AS controller
LABEL org.opencontainers.image.title="mcp-gatehouse controller" \
      org.opencontainers.image.description="Configures MCP gateways on Kubernetes"
COPY build/image/controller/root/ /
EXPOSE 9978 9093 9092
CMD ["controller"]

FROM common AS gateway
LABEL org.opencontainers.image.title="mcp-gatehouse gateway" \
      org.opencontainers.image.description="Puts OAuth 2.0 in front of MCP servers"
COPY build/image/gateway/root/ /
EXPOSE 15020 15021
CMD ["gateway"]

FROM ${COMPONENT}
